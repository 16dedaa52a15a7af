#include "src/analyze/verdict/idle_threads.h"

#include <algorithm>
#include <utility>

#include "src/analyze/verdict/process_causes.h"
#include "src/analyze/verdict/process_lines.h"
#include "src/trace/layers.h"

namespace crosscut::analyze {
namespace {

constexpr int64_t kFewest = 3;     // samples, and waits
constexpr int64_t kLeastSeen = 3;  // they are seen in a third of the looks at the lead's waits
// A thread is told to have ended where its last event is, which may be behind who waited for it.
constexpr int64_t kEndsLateNs = 5'000'000;

// When a thread was last at work, asked forwards in time.
class LastWork {
 public:
  LastWork(const Context& context, trace::TrackId track)
      : life_(LifeOf(context.trace(), track)),
        cursor_(context.trace(), track, context.Shared<ThreadFacts>().doing, life_),
        last_ns_(life_.begin_ns) {}
  // How long before. Requires: it is in the thread's life.
  int64_t Before(int64_t at_ns) {
    while (next_ns_ <= at_ns && next_ns_ < life_.end_ns) {
      const LeadStretch& now = cursor_.At(next_ns_);
      const bool works = trace::IsOfHost(now.layer) && now.layer != trace::Layer::kIdle;
      if (works) last_ns_ = now.end_ns;
      next_ns_ = now.end_ns;
    }
    return std::max<int64_t>(at_ns - last_ns_, 0);
  }
  const trace::Interval& life() const { return life_; }

 private:
  const trace::Interval life_;
  LeadCursor cursor_;
  int64_t last_ns_, next_ns_ = life_.begin_ns;
};

// Of a child that is recorded the causes know more.
bool IsUntold(const IdleThreads::Part& part, const LineStretch& lead) {
  if (part.cause == Cause::kWaiting) return Polls(lead) && !part.relatives.child;
  return part.cause == Cause::kPython && WaitsInNative(lead) && !lead.sample->compiles;
}

}  // namespace

void IdleThreads::Take(trace::TrackId track, const ThreadSample& sample) {
  // Whether it idles its spans tell; it may be seen as it wakes.
  const bool counts = !sample.locked && sample.line.kind == LineKind::kOwn;
  if (counts) candidates_.push_back({&sample, track, false});
}

// Outside of these waits, who waits by a lock may wait for the GIL.
void IdleThreads::AddOther(bool answered, const ThreadSample& other) {
  if (other.line.kind != LineKind::kOwn) return;
  if (answered && other.runs) ++answering_[other.line].there;
  if (!answered && (other.runs || other.locked)) ++answering_[other.line].elsewhere;
}

void IdleThreads::AddWork(const Part& part, const LineStretch& lead, const LineStretch& other,
                          const Blamed& blamed) {
  const bool answered = MayBeAnswered(part.cause, part.doing, part.relatives.child);
  const bool own = IsOwnLine(other.line.kind);
  if (answered ? !own : !IsUntold(part, lead)) return;
  const Line& line = own ? other.line : lead.line;
  UntoldOf& of = answered                        ? answering_[line].waits
                 : part.cause == Cause::kWaiting ? polls_
                                                 : in_python_;
  Untold& untold = of[static_cast<size_t>(BehindLead(Bit(other.state.layer)))];
  LeadPiece piece = part.piece;
  piece.blamed = {blamed.ns, 0, 0};
  if (piece.time.begin_ns >= counted_ns_) {  // its sample counts once, however many work
    piece.blamed = part.piece.blamed;
    piece.blamed.ns = blamed.ns;
    counted_ns_ = piece.time.end_ns;
  }
  untold.lead.Add(piece);
  untold.to_lines[line].Add(blamed);
  if (other.sample == nullptr || blamed.samples == 0) return;
  untold.in_native += other.sample->code == Code::kNative;
  untold.in_interpreter += other.sample->code == Code::kInterpreter;
}

void IdleThreads::AddNobody(const Part& part, const LineStretch& lead) {
  const ThreadSample* const sample = lead.sample;
  if (IsUntold(part, lead) && part.cause == Cause::kPython) {
    const bool sleeps = !sample->awaits_process;
    const bool nobody = sample->selects && !part.relatives.child && !part.relatives.others;
    const Cause cause = sleeps || nobody ? Cause::kWaiting : Cause::kOtherProcess;
    Untold& untold = in_python_[static_cast<size_t>(cause)];
    untold.lead.Add(part.piece);
    untold.to_lines[lead.line].Add(part.piece.blamed);
    if (!sleeps) AddIdle(part, Wait::kAny, cause, lead);
    return;
  }
  if (BehindLead(part.layers) != Cause::kWaiting) return;
  if (part.cause == Cause::kWaiting && part.doing == Doing::kSelecting && sample != nullptr &&
      sample->in_subprocess) {
    for_child_.Add(part.piece);
    return;
  }
  const bool locks = part.doing == Doing::kLocking || part.doing == Doing::kAwaitingThread;
  const bool any = part.doing == Doing::kSelecting || part.doing == Doing::kAwaitingProcess;
  if (any || IsUntold(part, lead)) {
    AddIdle(part, Wait::kAny, part.cause, lead);
  } else if (locks && sample != nullptr && sample->awaits_thread && !sample->awaits_future &&
             !sample->awaits_begin) {
    AddIdle(part, sample->awaits_end ? Wait::kEnd : Wait::kThread, part.cause, lead);
  }
}

void IdleThreads::AddIdle(const Part& part, Wait wait, Cause cause, const LineStretch& lead) {
  const Idle idle = {part.piece.time, wait, part.end_ns};
  const auto w = static_cast<size_t>(wait);
  leads_[w][static_cast<size_t>(cause)].Add(part.piece);
  if (part.piece.blamed.samples > 0) seen_ns_[w] += lead.sample->covers_ns;
  const bool goes_on = !idle_.empty() && idle_.back().time.end_ns == idle.time.begin_ns &&
                       idle_.back().wait == idle.wait && idle_.back().end_ns == idle.end_ns;
  if (goes_on) {
    idle_.back().time.end_ns = idle.time.end_ns;
  } else {
    idle_.push_back(idle);
  }
}

void IdleThreads::Seen::Add(const ThreadSample& sample, int64_t end_ns) {
  told.Add(sample.line, {sample.covers_ns, 1, 0});
  const bool process = sample.awaits_process && (!sample.selects || sample.in_subprocess);
  if (process) process_ns += sample.covers_ns;
  end_ns = std::max(end_ns, sample.at_ns);
  covered_ns += std::max<int64_t>(end_ns - std::max(sample.at_ns - sample.covers_ns, until_ns), 0);
  until_ns = std::max(until_ns, end_ns);
}

IdleThreads::AtWork IdleThreads::AtWorkOf(trace::TrackId track) const {
  LastWork work(context_, track);
  AtWork out;
  int64_t last_end = INT64_MIN;
  const int64_t from = work.life().begin_ns, until = work.life().end_ns + kEndsLateNs;
  auto next = std::partition_point(idle_.begin(), idle_.end(),
                                   [&](const Idle& idle) { return idle.time.begin_ns < from; });
  for (; next != idle_.end() && next->time.begin_ns < until; ++next) {
    const Idle& idle = *next;
    const int64_t begin = idle.time.begin_ns, end = std::min(idle.end_ns, work.life().end_ns);
    if (idle.wait == Wait::kEnd || idle.end_ns <= last_end || idle.end_ns > until) continue;
    last_end = idle.end_ns;
    out.before_middles_ns += work.Before(begin + (end - begin) / 2);
    out.before_ends_ns += work.Before(end);
    ++out.waits;
  }
  return out;
}

// A thread that does something of its own now and then is as often at work in the middle of a wait
// as at its end; who ends it was at work just before, however late the lead gets a processor.
bool IdleThreads::Waking::Wakes(const Line& line) {
  const auto [at, fresh] = known_.try_emplace(line, false);
  if (!fresh) return at->second;
  AtWork sum;
  for (const uint32_t track : threads_[line]) {
    const auto [of_track, first] = of_.try_emplace(track);
    if (first) of_track->second = idle_->AtWorkOf({track});
    sum.waits += of_track->second.waits;
    sum.before_ends_ns += of_track->second.before_ends_ns;
    sum.before_middles_ns += of_track->second.before_middles_ns;
  }
  at->second = sum.waits >= kFewest && 2 * sum.before_ends_ns < sum.before_middles_ns;
  return at->second;
}

bool IdleThreads::IsAwaited(const Candidate& candidate, const Idle& idle, Waking* waking) const {
  if (candidate.sample->in_item && idle.wait != Wait::kThread) return true;
  if (idle.wait == Wait::kEnd) {
    return LifeOf(context_.trace(), candidate.track).end_ns <= idle.end_ns + kEndsLateNs;
  }
  return waking->Wakes(candidate.sample->line);
}

void IdleThreads::Append(Cause from, const UntoldOf& untold, std::vector<Moved>* out) {
  for (size_t c = 0; c < kCauses; ++c) {
    const Untold& one = untold[c];
    if (one.lead.all.ns <= 0) continue;
    const bool native =
        static_cast<Cause>(c) == Cause::kPython && one.in_native > one.in_interpreter;
    out->push_back({from, native ? Cause::kNative : static_cast<Cause>(c), one.lead, one.to_lines});
  }
}

// Whoever works without regard to the lead is met outside of its waits in proportion.
bool IdleThreads::Answers(const Line& line) const {
  const Answering& seen = answering_.at(line);
  const double part = Share(otherwise_ns_, answered_ns_ + otherwise_ns_);
  const double by_chance = part * static_cast<double>(seen.there + seen.elsewhere);
  return seen.there >= kFewest && by_chance >= kFewest && kLeastSeen * seen.elsewhere <= by_chance;
}

std::vector<IdleThreads::Moved> IdleThreads::UntoldWaits() const {
  std::vector<Moved> out;
  if (for_child_.all.ns > 0) {
    out.push_back({Cause::kWaiting, Cause::kOtherProcess, for_child_, for_child_.told().lines});
  }
  Append(Cause::kPython, in_python_, &out);
  Append(Cause::kWaiting, polls_, &out);
  for (const auto& [line, answering] : answering_) {
    if (Answers(line)) Append(Cause::kOtherProcess, answering.waits, &out);
  }
  return out;
}

std::vector<IdleThreads::Moved> IdleThreads::WaitsForThreads() const {
  std::vector<Moved> out;
  if (idle_.empty() || candidates_.empty()) return out;
  std::vector<Candidate> candidates = candidates_;
  for (size_t i = 0; i < candidates.size(); ++i) {
    candidates[i].last =
        i + 1 == candidates.size() || candidates[i + 1].track.value != candidates[i].track.value;
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.sample->at_ns < b.sample->at_ns; });
  std::array<Seen, kWaits> sleep, all;  // who sleeps goes before who waits for others
  Waking waking(this);
  size_t at = 0;
  for (const Candidate& candidate : candidates) {
    const ThreadSample& sample = *candidate.sample;
    while (at < idle_.size() && idle_[at].time.end_ns <= sample.at_ns) ++at;
    if (at == idle_.size()) break;
    const Idle& idle = idle_[at];
    if (sample.at_ns < idle.time.begin_ns || !IsAwaited(candidate, idle, &waking)) continue;
    const auto wait = static_cast<size_t>(idle.wait);
    // No sample follows that covers the rest of a thread's life, if it ends here.
    const int64_t life_end_ns = LifeOf(context_.trace(), candidate.track).end_ns;
    const bool ends = candidate.last && life_end_ns <= idle.end_ns + kEndsLateNs;
    const int64_t end_ns = ends ? std::min(idle.time.end_ns, life_end_ns) : sample.at_ns;
    all[wait].Add(sample, end_ns);
    if (!sample.awaits_process) sleep[wait].Add(sample, end_ns);
  }
  for (size_t w = 0; w < kWaits; ++w) {
    const auto enough = [&](const Seen& seen) {
      return seen.told.all.samples >= kFewest && kLeastSeen * seen.covered_ns >= seen_ns_[w];
    };
    const Seen& seen = enough(sleep[w]) ? sleep[w] : all[w];
    if (!enough(seen)) continue;
    const Cause to =
        2 * seen.process_ns > seen.told.all.ns ? Cause::kOtherProcess : Cause::kWaiting;
    // Meanwhile they may be elsewhere, or have no processor yet.
    const double part = std::min(1.0, Share(seen.covered_ns, seen_ns_[w]));
    for (size_t c = 0; c < kCauses; ++c) {
      const LeadTime& lead = leads_[w][c];
      if (lead.all.ns == 0) continue;
      const Told rest = PartOf(lead.told(), 1 - part);
      BlamedLines to_lines = Scaled(seen.told, lead.all.ns - rest.all.ns);
      for (const auto& [line, blamed] : rest.lines) to_lines[line].Add(blamed);
      out.push_back({static_cast<Cause>(c), to, lead, std::move(to_lines)});
    }
  }
  return out;
}

}  // namespace crosscut::analyze
