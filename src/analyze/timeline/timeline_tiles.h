// Tiles of one track: how make_timeline.cc cuts time, and makes coarse tiles from fine ones.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "src/analyze/accounting/process_events.h"
#include "src/analyze/name_codes.h"
#include "src/analyze/timeline/timeline.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// A tile with its exact times. Names are NameId values, kNoText where there is none.
struct RawTile {
  uint32_t index = 0;
  uint32_t name = kNoText, operation = kNoText;
  int64_t name_ns = 0, operation_ns = 0;
  uint64_t spans = 0;
  std::array<int64_t, trace::kLayerCount> layer_ns{};
};

// Cuts the window into tiles of `tile_ns`; returns those with anything in them. While probes were
// off, a thread of the program has layer control, and names only of marks.
std::vector<RawTile> CutTrack(const trace::Trace& trace, const trace::Track& track,
                              const std::vector<ProcessEvents::Off>& off, trace::Interval window,
                              int64_t tile_ns);

// Makes one tile of four neighbours. A name's share is then a lower bound.
std::vector<RawTile> Coarsen(const std::vector<RawTile>& fine);

// Turns times into shares in 1/255 and merges neighbours that look the same. `text` maps a NameId's
// value to an index into Timeline::texts.
std::vector<TimelineTile> Pack(const std::vector<RawTile>& raw, int64_t tile_ns,
                               const std::function<uint32_t(uint32_t)>& text);

}  // namespace crosscut::analyze
