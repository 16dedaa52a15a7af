// Sets of intervals of time.
#pragma once

#include <cstdint>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::trace {

// Makes intervals sorted, disjoint, inside the window and not empty: where two overlap, the later
// one begins where the earlier one ends. Appends to `origins`, unless it is null, the input's index
// of each interval returned.
std::vector<Interval> Disjoint(const std::vector<Interval>& intervals, Interval window,
                               std::vector<uint32_t>* origins = nullptr);

// The parts of the intervals that lie in the window, joined where they touch, in order.
std::vector<Interval> UnionOf(std::vector<Interval> intervals,
                              Interval window = {INT64_MIN, INT64_MAX});

// Adds one that does not begin before the last one ends, and joins them where they touch.
void Extend(const Interval& by, std::vector<Interval>* intervals);

// What of `intervals` lies in none of `gone`. Both are disjoint and in order, and so is the result.
std::vector<Interval> Without(const std::vector<Interval>& intervals,
                              const std::vector<Interval>& gone);

// How much of [begin, end) lies in intervals that are disjoint and in order.
int64_t LengthWithin(const std::vector<Interval>& intervals, int64_t begin_ns, int64_t end_ns);
// All of it.
int64_t LengthOf(const std::vector<Interval>& intervals);

}  // namespace crosscut::trace
