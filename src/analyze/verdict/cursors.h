// What holds at an instant, for walks forwards in time.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analyze/collectives/matches.h"
#include "src/analyze/collectives/rank_waits.h"
#include "src/analyze/devices/device_work.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// Whether any of some intervals, ordered by begin, holds at an instant of the window.
class BusyCursor {
 public:
  BusyCursor(const std::vector<trace::Interval>& intervals, trace::Interval window)
      : busy_(UnionOf(intervals, window)) {}
  // Requires: `at_ns` is not smaller than in the call before.
  bool At(int64_t at_ns) {
    while (next_ < busy_.size() && busy_[next_].end_ns <= at_ns) ++next_;
    return next_ < busy_.size() && busy_[next_].begin_ns <= at_ns;
  }
  // The next change after the instant of the last At().
  int64_t Until(int64_t at_ns) const {
    if (next_ == busy_.size()) return INT64_MAX;
    return busy_[next_].begin_ns > at_ns ? busy_[next_].begin_ns : busy_[next_].end_ns;
  }

 private:
  std::vector<trace::Interval> busy_;
  size_t next_ = 0;
};

// When a process waited in collectives for another rank to come.
class RankWaitCursor {
 public:
  explicit RankWaitCursor(const std::vector<RankWait>& waits) : waits_(waits) {}
  // The wait at that time, or null. Requires: `at_ns` is not smaller than in the call before.
  const RankWait* At(int64_t at_ns) {
    while (next_ < waits_.size() && waits_[next_].end_ns <= at_ns) ++next_;
    const bool waits = next_ < waits_.size() && waits_[next_].begin_ns <= at_ns;
    return waits ? &waits_[next_] : nullptr;
  }
  // The next change after the instant of the last At().
  int64_t Until(int64_t at_ns) const {
    if (next_ == waits_.size()) return INT64_MAX;
    return waits_[next_].begin_ns > at_ns ? waits_[next_].begin_ns : waits_[next_].end_ns;
  }

 private:
  const std::vector<RankWait>& waits_;
  size_t next_ = 0;
};

}  // namespace crosscut::analyze
