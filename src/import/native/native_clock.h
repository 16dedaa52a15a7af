// Converts ticks of a recording to nanoseconds, by straight lines between the anchors that it
// holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace crosscut::import {

struct Anchor {
  uint64_t tick;
  int64_t ns;
  int64_t error_ns;  // the most by which the readings of tick and ns lie apart
};

class NativeClock {
 public:
  // How the recorder converted ticks at its start, for a log with fewer than two anchors: ns per
  // tick = mult / 2^shift. mult 0: not known.
  struct Rate {
    uint64_t mult = 0;
    uint32_t shift = 0;
  };

  // Anchors may come in any order; those that run backward against the others are left out and
  // counted. A clock without anchors converts ticks by `rate` from 0.
  NativeClock(std::vector<Anchor> anchors, Rate rate);

  // Never falls as `tick` rises. `segment` remembers where the caller was: it begins as 0, and each
  // stream keeps one.
  int64_t ToNs(uint64_t tick, size_t* segment) const {
    const Segment& s = segments_[*segment];
    if (tick < s.begin || tick >= s.end) [[unlikely]]
      return Find(tick, segment);
    return At(s, tick);
  }
  int64_t ToNs(uint64_t tick) const {
    size_t segment = 0;
    return ToNs(tick, &segment);
  }

  int64_t anchors() const { return anchors_; }
  int64_t backward() const { return backward_; }
  // A bound of |stated - true|: the error of the readings, and the drift of the clock between them
  // as the anchors show it.
  int64_t error_ns() const { return error_ns_; }

 private:
  static constexpr int kShift = 40;
  struct Segment {
    uint64_t begin, end;   // the ticks for which it holds
    uint64_t tick;         // its anchor
    int64_t ns, limit_ns;  // at the anchor; never beyond (INT64_MAX: no limit)
    uint64_t mult;         // ns per tick, 2^-kShift
  };
  static int64_t At(const Segment& s, uint64_t tick) {
    if (tick < s.tick) {
      return s.ns - static_cast<int64_t>((static_cast<unsigned __int128>(s.tick - tick) * s.mult) >>
                                         kShift);
    }
    const auto ns = s.ns + static_cast<int64_t>(
                               (static_cast<unsigned __int128>(tick - s.tick) * s.mult) >> kShift);
    return ns < s.limit_ns ? ns : s.limit_ns;
  }
  int64_t Find(uint64_t tick, size_t* segment) const;

  std::vector<Segment> segments_;  // never empty; together they hold every tick
  int64_t anchors_ = 0, backward_ = 0, error_ns_ = 0;
};

}  // namespace crosscut::import
