// When the program's work was not to be recorded: control steps.
#pragma once

#include <cstdint>

namespace crosscut::cupti {

// The latest intervals; an older one is forgotten. Not thread-safe.
class Pauses {
 public:
  void Begin(int64_t at_ns) {
    if (is_open_) return;
    is_open_ = true;
    intervals_[count_ % kMost] = {at_ns, INT64_MAX};
  }
  void End(int64_t at_ns) {
    if (!is_open_) return;
    is_open_ = false;
    intervals_[count_++ % kMost].end_ns = at_ns;
  }
  bool Contains(int64_t at_ns) const {
    const uint32_t used = count_ + (is_open_ ? 1 : 0);
    for (uint32_t i = 0; i < used && i < kMost; ++i) {
      const Interval& interval = intervals_[(used - 1 - i) % kMost];
      if (at_ns >= interval.end_ns) return false;
      if (at_ns >= interval.begin_ns) return true;
    }
    return false;
  }
  // The same intervals on a clock that is `offset_ns` ahead.
  void Shift(int64_t offset_ns) {
    for (Interval& interval : intervals_) {
      interval.begin_ns += offset_ns;
      if (interval.end_ns != INT64_MAX) interval.end_ns += offset_ns;
    }
  }

 private:
  static constexpr uint32_t kMost = 256;
  struct Interval {
    int64_t begin_ns, end_ns;
  };
  Interval intervals_[kMost] = {};
  uint32_t count_ = 0;
  bool is_open_ = false;
};

}  // namespace crosscut::cupti
