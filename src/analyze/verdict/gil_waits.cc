#include "src/analyze/verdict/gil_waits.h"

#include <algorithm>

#include "src/analyze/verdict/looks.h"

namespace crosscut::analyze {
namespace {

// Fewer looks tell nothing of those in which a thread was not looked at.
constexpr int64_t kFewestLooks = 3;

// Operators and native code may wait for threads of their own, and so may who loads data or
// simulates.
bool MayTell(Cause cause, Doing doing, const ThreadSample& lead) {
  if (WaitsForThreads(doing)) return false;
  if (cause == Cause::kWaiting || cause == Cause::kOtherProcess) return lead.locked || lead.runs;
  return lead.locked && (cause == Cause::kPython || cause == Cause::kDisk);
}

}  // namespace

void GilWaits::Take(uint32_t thread, const ThreadSample& sample) {
  const Holder seen = {sample.at_ns, sample.covers_ns, sample.line};
  const bool held = sample.gil == trace::Gil::kHeld;
  if (held) holders_.push_back(seen);
  if (held || sample.runs_python()) may_hold_.push_back(seen);
  if (sample.gil == trace::Gil::kUnknown) return;
  if (thread != last_thread_) {
    first_ns_.push_back(sample.at_ns - sample.covers_ns);
    last_ns_.push_back(0);
  }
  last_ns_.back() = sample.at_ns;
  last_thread_ = thread;
  known_.push_back(seen);
}

void GilWaits::Sort() {
  for (std::vector<Holder>* seen : {&holders_, &may_hold_, &known_}) {
    std::stable_sort(seen->begin(), seen->end(),
                     [](const Holder& a, const Holder& b) { return a.at_ns < b.at_ns; });
  }
  std::sort(first_ns_.begin(), first_ns_.end());
  std::sort(last_ns_.begin(), last_ns_.end());
}

const GilWaits::Holder* GilWaits::NearestOf(const std::vector<Holder>& seen,
                                            const ThreadSample& lead) {
  const Holder* nearest = nullptr;
  int64_t distance = INT64_MAX;
  ForEachOfLook(seen, lead, [&](const Holder& one, int64_t away) {
    if (away < distance) nearest = &one, distance = away;
    return false;  // on that side
  });
  return nearest;
}

void GilWaits::Look(const ThreadSample& lead) {
  int64_t seen = 0;
  ForEachOfLook(known_, lead, [&](const Holder&, int64_t) {
    ++seen;
    return true;
  });
  if (seen == 0) return;
  ++looks_;
  seen_ += seen;
  lived_ += std::upper_bound(first_ns_.begin(), first_ns_.end(), lead.at_ns + kOneLookNs) -
            first_ns_.begin();
  lived_ -= std::lower_bound(last_ns_.begin(), last_ns_.end(), lead.at_ns - kOneLookNs) -
            last_ns_.begin();
  held_ += HolderAt(lead) != nullptr ? 1 : 0;
}

// A look may have left some of the threads out that lived: as many of them have the GIL as of those
// seen.
bool GilWaits::OthersHadIt(bool otherwise) const {
  return looks_ < kFewestLooks ? otherwise : 2 * lived_ * held_ >= seen_ * looks_;
}

bool GilWaits::Add(Cause cause, Doing doing, const ThreadSample& lead, const LeadPiece& piece) {
  if (!MayTell(cause, doing, lead)) return false;
  const Line* const holder = HolderAt(lead);
  if (holder == nullptr) return false;
  Waits& sum = waits_[static_cast<size_t>(cause)];
  sum.lead.Add(piece);
  sum.holders[*holder].Add(piece.blamed);
  return true;
}

}  // namespace crosscut::analyze
