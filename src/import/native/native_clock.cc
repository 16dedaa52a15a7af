#include "src/import/native/native_clock.h"

#include <algorithm>
#include <cstdlib>

namespace crosscut::import {
namespace {

uint64_t Slope(const Anchor& a, const Anchor& b, int shift) {
  const auto rise = static_cast<unsigned __int128>(static_cast<uint64_t>(b.ns - a.ns));
  return static_cast<uint64_t>((rise << shift) / (b.tick - a.tick));
}

// How far the middle one of three anchors lies from the line through the others. Over one segment
// a steady drift bends a quarter of that.
int64_t Bend(const Anchor& a, const Anchor& b, const Anchor& c) {
  const auto along = static_cast<unsigned __int128>(b.tick - a.tick) *
                     static_cast<uint64_t>(c.ns - a.ns) / (c.tick - a.tick);
  return (std::abs(b.ns - a.ns - static_cast<int64_t>(along)) + 3) / 4;
}

}  // namespace

NativeClock::NativeClock(std::vector<Anchor> anchors, Rate rate) {
  std::sort(anchors.begin(), anchors.end(),
            [](const Anchor& a, const Anchor& b) { return a.tick < b.tick; });
  std::vector<Anchor> kept;
  for (const Anchor& anchor : anchors) {
    if (kept.empty() || (anchor.tick > kept.back().tick && anchor.ns >= kept.back().ns)) {
      kept.push_back(anchor);
    } else if (anchor.ns < kept.back().ns) {
      ++backward_;
    }
  }
  anchors_ = static_cast<int64_t>(kept.size());
  int64_t bend = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    error_ns_ = std::max(error_ns_, kept[i].error_ns);
    if (i >= 2) bend = std::max(bend, Bend(kept[i - 2], kept[i - 1], kept[i]));
  }
  error_ns_ += bend;

  uint64_t mult = uint64_t{1} << kShift;
  if (rate.mult != 0 && rate.shift <= 63) {
    mult =
        static_cast<uint64_t>((static_cast<unsigned __int128>(rate.mult) << kShift) >> rate.shift);
  }
  if (kept.empty()) kept.push_back({0, 0, 0});
  for (size_t i = 0; i + 1 < kept.size(); ++i) {
    mult = Slope(kept[i], kept[i + 1], kShift);
    segments_.push_back(
        {kept[i].tick, kept[i + 1].tick, kept[i].tick, kept[i].ns, kept[i + 1].ns, mult});
  }
  // Beyond the last anchor the longest baseline tells the rate best.
  if (kept.size() > 2) mult = Slope(kept.front(), kept.back(), kShift);
  segments_.push_back(
      {kept.back().tick, UINT64_MAX, kept.back().tick, kept.back().ns, INT64_MAX, mult});
  segments_.front().begin = 0;
}

int64_t NativeClock::Find(uint64_t tick, size_t* segment) const {
  const auto after = std::upper_bound(segments_.begin() + 1, segments_.end(), tick,
                                      [](uint64_t t, const Segment& s) { return t < s.begin; });
  *segment = static_cast<size_t>(after - segments_.begin()) - 1;
  return At(segments_[*segment], tick);
}

}  // namespace crosscut::import
