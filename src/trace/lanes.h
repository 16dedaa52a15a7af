// Work of a queue that does not nest: streams that were merged into one, copies beside kernels,
// launches of graphs. Then what lies in other work by its times is no part of that.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace crosscut::trace {

// Whether spans overlap without nesting. They come by begin, of equal ones the longest first.
class Crossing {
 public:
  void Add(int64_t begin, int64_t end) {
    while (!open_.empty() && open_.back() <= begin) open_.pop_back();
    any_ = any_ || (!open_.empty() && end > open_.back());
    open_.push_back(end);
  }
  bool any() const { return any_; }

 private:
  std::vector<int64_t> open_;  // ends, innermost last
  bool any_ = false;
};

}  // namespace crosscut::trace
