#include "src/analyze/verdict/process_lines.h"

#include <algorithm>

#include "src/analyze/accounting/accounting.h"
#include "src/trace/samples.h"

namespace crosscut::analyze {

ThreadFacts::ThreadFacts(const Context& context)
    : doing(DoingByName(context.trace())),
      samples(context.trace().tracks.size()),
      unknown(context.trace().processes.size()) {
  const trace::Trace& trace = context.trace();
  const Accounting& accounting = context.Shared<Accounting>();
  const trace::SampleReader reader(trace.strings);
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    for (const uint32_t t : accounting.tracks[p].host) {
      samples[t] = SamplesOf(trace, reader, trace.tracks[t]);
    }
    unknown[p] = accounting.events[p].pauses;
    for (const ProcessEvents::Off& off : accounting.events[p].OffTime()) {
      unknown[p].push_back({off.begin_ns, off.end_ns});
    }
    std::sort(unknown[p].begin(), unknown[p].end(),
              [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
  }
}

trace::Interval LifeOf(const trace::Trace& trace, trace::TrackId track) {
  const trace::Track& t = trace.tracks[track.value];
  const trace::Process& p = trace.processes[t.process.value];
  const int64_t begin = std::max(p.start_ns, t.begin_ns);
  return {begin, std::max(begin, std::min(p.end_ns, t.end_ns))};
}

std::unique_ptr<LineCursor> LinesOfThread(const Context& context, trace::TrackId track) {
  const ThreadFacts& facts = context.Shared<ThreadFacts>();
  const trace::Trace& trace = context.trace();
  const trace::ProcessId process = trace.tracks[track.value].process;
  const std::vector<trace::Step>& steps = trace.processes[process.value].steps;
  const ThreadView thread = {trace,
                             track,
                             facts.doing,
                             facts.unknown[process.value],
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
    if (t == lead.value || facts.samples[t].empty()) continue;
    others_.push_back({{t}, LifeOf(trace, {t}), nullptr});
  }
  std::stable_sort(others_.begin(), others_.end(), [](const Thread& a, const Thread& b) {
    return a.life.begin_ns < b.life.begin_ns;
  });
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

void ProcessLines::FindOthers(int64_t at_ns, LayerSet layers, int64_t* until_ns) {
  for (; next_other_ < others_.size() && others_[next_other_].life.begin_ns <= at_ns;
       ++next_other_) {
    Thread* const born = &others_[next_other_];
    if (born->life.end_ns <= at_ns) continue;
    born->lines = LinesOfThread(context_, born->track);
    living_.insert(std::upper_bound(living_.begin(), living_.end(), born,
                                    [](const Thread* a, const Thread* b) {
                                      return a->track.value < b->track.value;
                                    }),
                   born);
  }
  if (next_other_ < others_.size()) {
    *until_ns = std::min(*until_ns, others_[next_other_].life.begin_ns);
  }
  std::erase_if(living_, [at_ns](Thread* one) {
    if (one->life.end_ns <= at_ns) one->lines.reset();
    return one->lines == nullptr;
  });
  for (Thread* const other : living_) {
    const LineStretch* stretch = At(other, at_ns, until_ns);
    if (stretch == nullptr || !Works(*stretch, layers) || WasSeenWaiting(*stretch)) continue;
    const LineKind kind = stretch->line.kind;
    if (kind == LineKind::kOwn || kind == LineKind::kImport) working_.push_back(stretch);
  }
}

}  // namespace crosscut::analyze
