#include "src/analyze/verdict/lock_holders.h"

#include <algorithm>
#include <map>
#include <utility>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/verdict/lead_states.h"
#include "src/analyze/verdict/looks.h"
#include "src/analyze/verdict/process_lines.h"

namespace crosscut::analyze {

void LockHolders::Add(const ThreadSample& lead, const LeadPiece& piece) {
  if (!looked_) LookAtOthers();
  if (last_ != &lead) holder_ = HolderAt(lead);
  last_ = &lead;
  if (holder_ == nullptr) return;
  lead_.Add(piece);
  lines_[*holder_].Add(piece.blamed);
}

void LockHolders::LookAtOthers() {
  looked_ = true;
  const trace::Trace& trace = context_.trace();
  const ThreadFacts& facts = context_.Shared<ThreadFacts>();
  for (const uint32_t track : context_.Shared<Accounting>().tracks[process_].host) {
    if (track == trace.processes[process_].lead.value) continue;
    const trace::Interval life = LifeOf(trace, {track});
    LeadCursor cursor(trace, {track}, facts.doing, life);
    trace::Interval seen = {INT64_MAX, INT64_MIN};
    for (const ThreadSample& sample : facts.samples[track]) {
      if (!sample.python || sample.at_ns < life.begin_ns || sample.at_ns >= life.end_ns) continue;
      const bool waits = sample.awaits_thread || WaitsForThreads(cursor.At(sample.at_ns).doing);
      others_.push_back({sample.at_ns, sample.covers_ns, track, sample.line, waits});
      seen.begin_ns = std::min(seen.begin_ns, sample.at_ns - sample.covers_ns);
      seen.end_ns = sample.at_ns + 1;
    }
    if (seen.begin_ns >= seen.end_ns) continue;
    begins_.push_back(seen.begin_ns);
    ends_.push_back(seen.end_ns);
  }
  std::sort(begins_.begin(), begins_.end());
  std::sort(ends_.begin(), ends_.end());
  std::stable_sort(others_.begin(), others_.end(),
                   [](const Other& a, const Other& b) { return a.at_ns < b.at_ns; });
}

// A thread that the look left out may have the lock.
const Line* LockHolders::HolderAt(const ThreadSample& lead) const {
  std::map<uint32_t, std::pair<int64_t, const Other*>> nearest;  // by track: how far away
  ForEachOfLook(others_, lead, [&](const Other& other, int64_t away) {
    const auto [at, fresh] = nearest.try_emplace(other.track, away, &other);
    if (!fresh && away < at->second.first) at->second = {away, &other};
    return true;
  });
  const auto until_now = [&](const std::vector<int64_t>& times) {
    return std::upper_bound(times.begin(), times.end(), lead.at_ns) - times.begin();
  };
  const auto alive = until_now(begins_) - until_now(ends_);
  if (static_cast<int64_t>(nearest.size()) < alive) return nullptr;
  std::erase_if(nearest, [](const auto& one) { return one.second.second->waits; });
  if (nearest.size() != 1) return nullptr;
  const Line& line = nearest.begin()->second.second->line;
  return line.kind == LineKind::kOwn ? &line : nullptr;
}

}  // namespace crosscut::analyze
