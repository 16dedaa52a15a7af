// All changes of one process as one source of the sweep, and the layer set that they add up to:
// what every fold over a process shares.
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

// The tracks of one process.
struct ProcessTracks {
  std::vector<uint32_t> host, device, async, ours;  // indices into Trace::tracks; host: threads
};
std::vector<ProcessTracks> TracksByProcess(const trace::Trace& trace);

// A layer set as an index: active layers by dense number, then blocked, then device.
inline constexpr uint32_t kBlockedIndex = 1 << kActive;
inline constexpr uint32_t kDeviceIndex = kBlockedIndex << 1;
inline constexpr uint32_t kControlIndex = kDeviceIndex << 1;
inline constexpr uint32_t kLayerIndices = kControlIndex + 1;
extern const std::array<LayerSet, kLayerIndices> kLayerSets;  // by index

// Which resources the tracks of a process are in: how many in each.
class Presence {
 public:
  // Requires: no kSet bit.
  void Move(uint32_t change) {
    const Resource from = MoveFrom(change), to = MoveTo(change);
    --counts_[from];
    ++counts_[to];
    present_ = (present_ & ~(uint32_t{1} << from)) | uint32_t{counts_[from] != 0} << from;
    present_ |= uint32_t{1} << to;
  }
  // The layer set of now.
  uint32_t Index() const {
    const uint32_t working = present_ >> kWorking & kMask;
    uint32_t index = (present_ >> kOwn & kMask) | working;
    if (working == 0) index |= present_ >> kWaiting & kMask;
    const bool blocked = (present_ >> kBlocked & 1) && !(present_ >> kUnknown & 1);
    if (index == 0 && blocked) index = kBlockedIndex;
    return (present_ >> kBusy & 1) ? index | kDeviceIndex : index;
  }
  // The lead waits for others.
  bool Waits() const { return (present_ >> kWaiting & kMask) != 0; }
  // Threads that are not the lead and work in a span.
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

// The program's tracks and the process's own events, in its window. All arguments outlive it.
ProcessSource SourceOf(const trace::Trace& trace, const NameCodes& names,
                       const ProcessTracks& tracks, const ProcessEvents& events,
                       trace::ProcessId process);

}  // namespace crosscut::analyze
