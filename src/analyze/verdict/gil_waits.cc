#include "src/analyze/verdict/gil_waits.h"

#include <algorithm>
#include <cstdlib>

namespace crosscut::analyze {
namespace {

// Threads are looked at one after the other: so far apart at most are two of one look.
constexpr int64_t kOneLookNs = 5'000'000;

// Operators and native code may wait for threads of their own, and so may who loads data or
// simulates.
bool MayTell(Cause cause, Doing doing, const ThreadSample& lead) {
  if (doing == Doing::kLocking || doing == Doing::kAwaitingThread) return false;
  if (cause == Cause::kWaiting || cause == Cause::kOtherProcess) return lead.locked || lead.runs;
  return lead.locked && (cause == Cause::kPython || cause == Cause::kDisk);
}

}  // namespace

void GilWaits::Sort() {
  std::sort(holders_.begin(), holders_.end(),
            [](const Holder& a, const Holder& b) { return a.at_ns < b.at_ns; });
  std::sort(may_hold_.begin(), may_hold_.end());
}

bool GilWaits::OthersAt(int64_t at_ns) const {
  const auto next = std::lower_bound(may_hold_.begin(), may_hold_.end(), at_ns - kOneLookNs);
  return next != may_hold_.end() && *next <= at_ns + kOneLookNs;
}

const GilWaits::Holder* GilWaits::NearestTo(int64_t at_ns) const {
  auto nearest = std::lower_bound(holders_.begin(), holders_.end(), at_ns,
                                  [](const Holder& a, int64_t at) { return a.at_ns < at; });
  if (nearest == holders_.end() && nearest != holders_.begin()) --nearest;
  if (nearest != holders_.begin() && nearest != holders_.end() &&
      at_ns - (nearest - 1)->at_ns < nearest->at_ns - at_ns) {
    --nearest;
  }
  const bool seen = nearest != holders_.end() && std::abs(nearest->at_ns - at_ns) <= kOneLookNs;
  return seen ? &*nearest : nullptr;
}

bool GilWaits::Add(Cause cause, Doing doing, const LineStretch& at, const Blamed& blamed) {
  if (!MayTell(cause, doing, *at.sample)) return false;
  const Holder* holder = NearestTo(at.sample->at_ns);
  if (holder == nullptr) return false;
  Waits& sum = waits_[static_cast<size_t>(cause)];
  sum.lead.Add(at.line, blamed);
  sum.holders[holder->line].Add(blamed);
  return true;
}

}  // namespace crosscut::analyze
