// Tiles of one track: how timeline.cc cuts time, and makes coarse tiles from fine ones.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "src/analyze/name_codes.h"
#include "src/analyze/timeline/timeline.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// A tile with its exact times. Names are NameIds' values, kNoText where there is none.
struct RawTile {
  uint32_t index = 0;
  uint32_t name = kNoText, operation = kNoText;
  int64_t name_ns = 0, operation_ns = 0;
  uint64_t spans = 0;
  std::array<int64_t, trace::kLayerCount> layer_ns{};
};

// Fine tiles of the window, those with anything in them. In `control`, sorted and disjoint, a
// thread of the program's is of that layer and has no names: its probes were off.
std::vector<RawTile> CutTrack(const trace::Trace& trace, const trace::Track& track,
                              const std::vector<trace::Interval>& control, trace::Interval window,
                              int64_t tile_ns);

// Four neighbours become one. A name's share is then a lower bound.
std::vector<RawTile> Coarsen(const std::vector<RawTile>& fine);

// Shares in 1/255, neighbours that look the same merged. `text` turns a name into a text's index.
std::vector<TimelineTile> Pack(const std::vector<RawTile>& raw, int64_t tile_ns,
                               const std::function<uint32_t(uint32_t)>& text);

}  // namespace crosscut::analyze
