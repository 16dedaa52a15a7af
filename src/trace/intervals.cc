#include "src/trace/intervals.h"

#include <algorithm>
#include <numeric>

namespace crosscut::trace {

std::vector<Interval> Disjoint(const std::vector<Interval>& intervals, Interval window,
                               std::vector<uint32_t>* origins) {
  std::vector<uint32_t> order(intervals.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return intervals[a].begin_ns < intervals[b].begin_ns;
  });
  std::vector<Interval> out;
  int64_t from = window.begin_ns;
  for (const uint32_t i : order) {
    const int64_t begin = std::max(intervals[i].begin_ns, from);
    const int64_t end = std::min(intervals[i].end_ns, window.end_ns);
    if (begin >= end) continue;
    out.push_back({begin, end});
    if (origins != nullptr) origins->push_back(i);
    from = end;
  }
  return out;
}

std::vector<Interval> UnionOf(std::vector<Interval> intervals, Interval window) {
  const auto earlier = [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; };
  if (!std::is_sorted(intervals.begin(), intervals.end(), earlier)) {
    std::sort(intervals.begin(), intervals.end(), earlier);
  }
  std::vector<Interval> out;
  for (const Interval& one : intervals) {
    const int64_t begin = std::max(one.begin_ns, window.begin_ns);
    const int64_t end = std::min(one.end_ns, window.end_ns);
    if (begin >= end) continue;
    if (!out.empty() && begin <= out.back().end_ns) {
      out.back().end_ns = std::max(out.back().end_ns, end);
    } else {
      out.push_back({begin, end});
    }
  }
  return out;
}

void Extend(const Interval& by, std::vector<Interval>* intervals) {
  if (!intervals->empty() && intervals->back().end_ns == by.begin_ns) {
    intervals->back().end_ns = by.end_ns;
  } else {
    intervals->push_back(by);
  }
}

std::vector<Interval> Without(const std::vector<Interval>& intervals,
                              const std::vector<Interval>& gone) {
  std::vector<Interval> out;
  auto next = gone.begin();
  for (Interval one : intervals) {
    while (next != gone.end() && next->begin_ns < one.end_ns) {
      if (next->begin_ns > one.begin_ns) out.push_back({one.begin_ns, next->begin_ns});
      one.begin_ns = std::max(one.begin_ns, next->end_ns);
      if (next->end_ns > one.end_ns) break;
      ++next;
    }
    if (one.begin_ns < one.end_ns) out.push_back(one);
  }
  return out;
}

int64_t LengthWithin(const std::vector<Interval>& intervals, int64_t begin_ns, int64_t end_ns) {
  int64_t ns = 0;
  auto at = std::partition_point(intervals.begin(), intervals.end(),
                                 [&](const Interval& one) { return one.end_ns <= begin_ns; });
  for (; at != intervals.end() && at->begin_ns < end_ns; ++at) {
    ns += std::min(at->end_ns, end_ns) - std::max(at->begin_ns, begin_ns);
  }
  return ns;
}

int64_t LengthOf(const std::vector<Interval>& intervals) {
  int64_t ns = 0;
  for (const Interval& one : intervals) ns += one.end_ns - one.begin_ns;
  return ns;
}

}  // namespace crosscut::trace
