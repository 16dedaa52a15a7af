// What holds at an instant, for walks forwards in time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "src/analyze/collectives/rank_waits.h"
#include "src/trace/intervals.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// Which of some intervals, disjoint and in order, holds.
template <class Interval>
class IntervalCursor {
 public:
  explicit IntervalCursor(std::vector<Interval> intervals) : intervals_(std::move(intervals)) {}
  // The interval at that time, or null. Requires: `at_ns` is not smaller than in the call before.
  const Interval* At(int64_t at_ns) {
    while (next_ < intervals_.size() && intervals_[next_].end_ns <= at_ns) ++next_;
    const bool holds = next_ < intervals_.size() && intervals_[next_].begin_ns <= at_ns;
    return holds ? &intervals_[next_] : nullptr;
  }
  // The next change after the instant of the last At().
  int64_t Until(int64_t at_ns) const {
    if (next_ == intervals_.size()) return INT64_MAX;
    const Interval& next = intervals_[next_];
    return next.begin_ns > at_ns ? next.begin_ns : next.end_ns;
  }

 private:
  std::vector<Interval> intervals_;
  size_t next_ = 0;
};

using BusyCursor = IntervalCursor<trace::Interval>;
using RankWaitCursor = IntervalCursor<RankWait>;  // for another rank to come

}  // namespace crosscut::analyze
