// The changes of state of one track, in order of time: the sources of the overlap sweep.
//
// A state is one of a few resources, which the sweep counts. An edge costs O(1), because every open
// span keeps the state that holds inside it. Children are clipped to their parents. The memory
// needed is that of the open spans.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analyze/accounting/sweep.h"
#include "src/analyze/name_codes.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// Active layers by dense number: python, framework, runtime, simulator, data, comm, native,
// overhead.
inline constexpr int kActive = 8;

using Resource = uint8_t;
inline constexpr Resource kAbsent = 0;    // a thread before and after its life; a device at rest
inline constexpr Resource kUnknown = 1;   // alive, in no known layer
inline constexpr Resource kBlocked = 2;   // alive, innermost layer idle
inline constexpr Resource kOwn = 3;       // + active layer: none of the next two
inline constexpr Resource kWorking = 11;  // + active layer: a thread but the lead, in a span
inline constexpr Resource kWaiting = 19;  // + active layer: the lead, in a span that waits
inline constexpr Resource kBusy = 27;     // a device in a span
inline constexpr int kResources = 32;

// The lower half of a Record. With kSet it sets something of the process: SetChange. Without kSet
// it moves one track from a resource to another, perhaps because a probe's event begins there:
// MoveChange.
inline constexpr uint32_t kSet = uint32_t{1} << 31;
enum class What : uint32_t { kOperation = 0, kStretch = 1, kPause = 2, kPart = 3 };
inline constexpr uint32_t kMaxValue = (1 << 29) - 1;
inline constexpr uint32_t SetChange(What what, uint32_t value) {
  return kSet | static_cast<uint32_t>(what) << 29 | value;
}
inline constexpr What WhatOf(uint32_t change) { return static_cast<What>(change >> 29 & 3); }
inline constexpr uint32_t ValueOf(uint32_t change) { return change & kMaxValue; }
inline constexpr uint32_t MoveChange(Resource from, Resource to, uint8_t probe, bool lead) {
  return from | uint32_t{to} << 5 | uint32_t{probe} << 10 | uint32_t{lead} << 16;
}
inline constexpr Resource MoveFrom(uint32_t change) { return change & 31; }
inline constexpr Resource MoveTo(uint32_t change) { return change >> 5 & 31; }
inline constexpr uint8_t MoveProbe(uint32_t change) { return change >> 10 & 63; }
inline constexpr bool MoveOfLead(uint32_t change) { return (change >> 16 & 1) != 0; }

// The layer with that dense number, from 0 to kActive - 1.
trace::Layer ActiveLayer(int active);

enum class Role : uint8_t { kLead, kThread, kDevice, kAsync };

// Peek and Emit are those of a Source of Sweep (sweep.h).
class TrackCursor {
 public:
  // Covers the part of the track's life that lies in `window`. `track` and `names` must outlive the
  // cursor.
  TrackCursor(const trace::Track& track, const NameCodes& names, Role role, trace::Interval window);

  int64_t Peek(size_t quota) const;
  void Emit(int64_t from, int64_t until, Records& out);

 private:
  struct Open {
    int64_t end_ns;
    uint32_t operation, part;
    Resource resource;
    uint8_t code;
  };
  template <bool kQuiet>
  void Run(int64_t limit, int64_t from, Records& out);
  template <bool kQuiet>
  void RunSpans(int64_t limit, int64_t from, Records& out);
  void Push(size_t span);
  int64_t NextMark();
  void ChangeBase();
  void Start(int64_t from, Records& out);
  void Tell(int64_t at, int64_t from, uint8_t probe, Records& out);

  const trace::Track& track_;
  const NameCode* codes_;
  const uint8_t (*moves_)[kResources];  // [code][resource below] -> resource
  bool lead_;
  bool started_ = false, ended_ = false;
  int64_t life_begin_, life_end_;
  size_t next_ = 0, next_base_ = 0, next_instant_ = 0;
  std::vector<Open> open_;  // [0] is the base
  size_t depth_ = 0;        // index of the innermost
  Resource told_ = kAbsent;
  uint32_t told_operation_ = 0, told_part_ = 0;
};

}  // namespace crosscut::analyze
