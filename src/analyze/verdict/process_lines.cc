#include "src/analyze/verdict/process_lines.h"

#include <algorithm>
#include <utility>

#include "src/analyze/accounting/accounting.h"
#include "src/trace/intervals.h"
#include "src/trace/samples.h"

namespace crosscut::analyze {

ThreadFacts::ThreadFacts(const Context& context)
    : doing(DoingByName(context.trace())),
      samples(context.trace().tracks.size()),
      off(context.trace().processes.size()),
      marks(context.trace().processes.size()) {
  const trace::Trace& trace = context.trace();
  const Accounting& accounting = context.Shared<Accounting>();
  const trace::SampleReader reader(trace.strings);
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    for (const uint32_t t : accounting.tracks[p].host) {
      samples[t] = SamplesOf(trace, reader, trace.tracks[t]);
    }
    off[p] = accounting.events[p].pauses;
    for (const ProcessEvents::Off& one : accounting.events[p].OffTime()) {
      (one.marks ? marks : off)[p].push_back({one.begin_ns, one.end_ns});
    }
    const trace::Interval window = {trace.processes[p].start_ns, trace.processes[p].end_ns};
    off[p] = UnionOf(std::move(off[p]), window);
    marks[p] = UnionOf(std::move(marks[p]), window);
  }
}

trace::Interval LifeOf(const trace::Trace& trace, trace::TrackId track) {
  const trace::Track& t = trace.tracks[track.value];
  const trace::Process& p = trace.processes[t.process.value];
  const int64_t begin = std::max(p.start_ns, t.begin_ns);
  return {begin, std::max(begin, std::min(p.end_ns, t.end_ns))};
}

WindowPart PartAt(const Context& context, trace::ProcessId process, int64_t at_ns) {
  const auto& stretches = context.Shared<Accounting>().events[process.value].stretches;
  const auto behind =
      std::partition_point(stretches.begin(), stretches.end(),
                           [at_ns](const Stretch& stretch) { return stretch.begin_ns <= at_ns; });
  return behind == stretches.begin() ? WindowPart::kWhole : (behind - 1)->part;
}

std::unique_ptr<LineCursor> LinesOfThread(const Context& context, trace::TrackId track) {
  const ThreadFacts& facts = context.Shared<ThreadFacts>();
  const trace::Trace& trace = context.trace();
  const trace::ProcessId process = trace.tracks[track.value].process;
  const std::vector<trace::Step>& steps = trace.processes[process.value].steps;
  const ThreadView thread = {trace,
                             track,
                             facts.doing,
                             facts.off[process.value],
                             facts.marks[process.value],
                             LifeOf(trace, track),
                             steps.empty()
                                 ? trace::Interval{}
                                 : trace::Interval{steps.front().begin_ns, steps.back().end_ns}};
  return std::make_unique<LineCursor>(thread, facts.samples[track.value]);
}

ProcessLines::ProcessLines(const Context& context, trace::ProcessId process) : context_(context) {
  const trace::Trace& trace = context.trace();
  const ThreadFacts& facts = context.Shared<ThreadFacts>();
  const trace::TrackId lead = trace.processes[process.value].lead;
  if (lead.value < trace.tracks.size()) {
    lead_ = {lead, LifeOf(trace, lead), LinesOfThread(context, lead)};
  }
  for (const uint32_t t : context.Shared<Accounting>().tracks[process.value].host) {
    knows_any_ |= !facts.samples[t].empty();
    if (t == lead.value) continue;
    (facts.samples[t].empty() ? unseen_ : others_).push_back({{t}, LifeOf(trace, {t}), nullptr});
  }
  const auto earlier = [](const auto& a, const auto& b) {
    return a.life.begin_ns < b.life.begin_ns;
  };
  std::stable_sort(others_.begin(), others_.end(), earlier);
  std::stable_sort(unseen_.begin(), unseen_.end(), earlier);
}

const LineStretch* ProcessLines::At(Thread* thread, int64_t at_ns, int64_t* until_ns) {
  if (thread->lines == nullptr || at_ns >= thread->life.end_ns) return nullptr;
  if (at_ns < thread->life.begin_ns) {
    *until_ns = std::min(*until_ns, thread->life.begin_ns);
    return nullptr;
  }
  const LineStretch& stretch = thread->lines->At(at_ns);
  *until_ns = std::min(*until_ns, stretch.end_ns);
  return &stretch;
}

// The thread's stretch ends, or its life begins.
void ProcessLines::TakeChange(Thread* thread, int64_t at_ns) {
  const bool did = thread->now != nullptr, lives = at_ns < thread->life.end_ns;
  if (!lives) thread->lines.reset();
  const LineStretch* const stretch = lives ? &thread->lines->At(at_ns) : nullptr;
  const auto may_work = [&] {
    const bool runs = stretch->sample != nullptr && stretch->sample->runs;
    const bool unlined = stretch->line.kind == LineKind::kLibrary && runs;
    return (unlined || IsOwnLine(stretch->line.kind)) &&
           stretch->state.layer != trace::Layer::kNone && !WasSeenWaiting(*stretch);
  };
  thread->now = lives && may_work() ? stretch : nullptr;
  in_python_ -= thread->in_python;
  waiting_in_python_ -= thread->waits_there;
  thread->in_python = lives && stretch->state.layer == trace::Layer::kPython;
  thread->waits_there = thread->in_python && WasSeenWaiting(*stretch);
  in_python_ += thread->in_python;
  waiting_in_python_ += thread->waits_there;
  if (lives) {
    changes_.push({std::clamp(stretch->end_ns, at_ns + 1, thread->life.end_ns), thread});
  }
  if (did == (thread->now != nullptr)) return;
  const auto place = std::lower_bound(
      may_work_.begin(), may_work_.end(), thread,
      [](const Thread* a, const Thread* b) { return a->track.value < b->track.value; });
  if (did) {
    may_work_.erase(place);
  } else {
    may_work_.insert(place, thread);
  }
}

void ProcessLines::MoveTo(int64_t at_ns, int64_t* until_ns) {
  for (; next_other_ < others_.size() && others_[next_other_].life.begin_ns <= at_ns;
       ++next_other_) {
    Thread* const born = &others_[next_other_];
    if (born->life.end_ns <= at_ns) continue;
    born->lines = LinesOfThread(context_, born->track);
    TakeChange(born, at_ns);
  }
  if (next_other_ < others_.size()) {
    *until_ns = std::min(*until_ns, others_[next_other_].life.begin_ns);
  }
  while (!changes_.empty() && changes_.top().at_ns <= at_ns) {
    Thread* const thread = changes_.top().thread;
    changes_.pop();
    TakeChange(thread, at_ns);
  }
  if (!changes_.empty()) *until_ns = std::min(*until_ns, changes_.top().at_ns);
}

bool ProcessLines::UnseenInPython(int64_t at_ns, int64_t* until_ns) {
  for (; next_unseen_ < unseen_.size() && unseen_[next_unseen_].life.begin_ns <= at_ns;
       ++next_unseen_) {
    const Thread& born = unseen_[next_unseen_];
    if (born.life.end_ns <= at_ns) continue;
    const std::vector<Doing>& doing = context_.Shared<ThreadFacts>().doing;
    unseen_alive_.push_back(
        {born.life.end_ns,
         std::make_unique<LeadCursor>(context_.trace(), born.track, doing, born.life)});
  }
  if (next_unseen_ < unseen_.size()) {
    *until_ns = std::min(*until_ns, unseen_[next_unseen_].life.begin_ns);
  }
  std::erase_if(unseen_alive_, [at_ns](const auto& thread) { return thread.first <= at_ns; });
  return std::ranges::any_of(unseen_alive_, [&](const auto& thread) {
    const LeadStretch& stretch = thread.second->At(at_ns);
    *until_ns = std::min({*until_ns, stretch.end_ns, thread.first});
    return stretch.layer == trace::Layer::kPython;
  });
}

LayerSet ProcessLines::LayersBehind(const LeadStretch& lead, LayerSet layers, int64_t at_ns,
                                    int64_t* until_ns) {
  constexpr LayerSet kPython = Bit(trace::Layer::kPython);
  if (lead.layer != trace::Layer::kIdle || (layers & kPython) == 0) return layers;
  MoveTo(at_ns, until_ns);
  if (waiting_in_python_ == 0 || in_python_ != waiting_in_python_) return layers;
  if (UnseenInPython(at_ns, until_ns)) return layers;
  layers &= ~kPython;
  return (layers & kHostBits) == 0 ? layers | kIdleBit : layers;
}

void ProcessLines::FindOthers(int64_t at_ns, LayerSet layers, int64_t* until_ns) {
  MoveTo(at_ns, until_ns);
  for (const Thread* thread : may_work_) {
    if (!Works(*thread->now, layers)) continue;
    if (IsOwnLine(thread->now->line.kind)) {
      working_.push_back(thread->now);
    } else {
      unlined_ = thread->now;
    }
  }
}

}  // namespace crosscut::analyze
