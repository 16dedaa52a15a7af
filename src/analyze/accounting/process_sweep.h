// All changes of one process as one source of the sweep, and the layer set that they add up to.
// Every fold over a process uses them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "src/analyze/accounting/cursor.h"
#include "src/analyze/accounting/process_events.h"
#include "src/analyze/accounting/sweep.h"
#include "src/analyze/layer_set.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// The tracks of one process, as indices into Trace::tracks. `host` has the program's threads,
// `ours` all tracks of Crosscut itself.
struct ProcessTracks {
  std::vector<uint32_t> host, device, async, ours;
};
// By process. Leaves out tracks without a process.
std::vector<ProcessTracks> TracksByProcess(const trace::Trace& trace);

// A layer set as an index: a bit for each active layer by dense number, one for blocked, one for
// device; kControlIndex stands for control alone.
inline constexpr uint32_t kBlockedIndex = 1 << kActive;
inline constexpr uint32_t kDeviceIndex = kBlockedIndex << 1;
inline constexpr uint32_t kControlIndex = kDeviceIndex << 1;
inline constexpr uint32_t kLayerIndices = kControlIndex + 1;
extern const std::array<LayerSet, kLayerIndices> kLayerSets;  // by index
// What stands for `index` in a step that was left out: of its layers only our own work is known.
inline uint32_t LeftOutIndex(uint32_t index) {
  return kLayerSets[index] == kOursAlone ? index : kControlIndex;
}

// How many tracks of a process are in each resource.
class Presence {
 public:
  // Requires: `change` has no kSet bit.
  void Move(uint32_t change) {
    const Resource from = MoveFrom(change), to = MoveTo(change);
    --counts_[from];
    ++counts_[to];
    present_ = (present_ & ~(uint32_t{1} << from)) | uint32_t{counts_[from] != 0} << from;
    present_ |= uint32_t{1} << to;
  }
  // The layer set that holds now, as an index.
  uint32_t Index() const {
    const uint32_t working = present_ >> kWorking & kMask;
    uint32_t index = (present_ >> kOwn & kMask) | working;
    if (working == 0) index |= present_ >> kWaiting & kMask;
    const bool blocked = (present_ >> kBlocked & 1) && !(present_ >> kUnknown & 1);
    if (index == 0 && blocked) index = kBlockedIndex;
    return (present_ >> kBusy & 1) ? index | kDeviceIndex : index;
  }
  // Whether the lead is in a span that waits.
  bool Waits() const { return (present_ >> kWaiting & kMask) != 0; }
  // The number of threads, without the lead, that work in a span.
  int64_t Working() const {
    int64_t n = 0;
    for (int a = 0; a < kActive; ++a) n += counts_[kWorking + a];
    return n;
  }

 private:
  static constexpr uint32_t kMask = (1 << kActive) - 1;
  std::array<uint32_t, kResources> counts_{1u << 30};  // [kAbsent] never runs out
  uint32_t present_ = 1;
};

// A Source of Sweep (sweep.h).
struct ProcessSource {
  std::vector<TrackCursor> tracks;
  EventCursor events;

  int64_t Peek(size_t quota) const {
    int64_t earliest = events.Peek(quota);
    for (const TrackCursor& t : tracks) earliest = std::min(earliest, t.Peek(quota));
    return earliest;
  }
  void Emit(int64_t from, int64_t until, Records& out) {
    for (TrackCursor& t : tracks) t.Emit(from, until, out);
    events.Emit(from, until, out);
  }
};

// The program's tracks and the process's events, in its window. All arguments must outlive it.
ProcessSource SourceOf(const trace::Trace& trace, const NameCodes& names,
                       const ProcessTracks& tracks, const ProcessEvents& events,
                       trace::ProcessId process);

}  // namespace crosscut::analyze
