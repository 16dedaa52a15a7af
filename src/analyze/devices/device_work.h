// The work on devices, process by process: what every table about devices is made of.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::analyze {

enum class WorkType : uint8_t { kComputation, kCommunication, kCopy, kWait };
inline constexpr int kWorkTypes = 3;  // kWait is no work: what a device's library says of waiting
std::string_view NameOf(WorkType type);
// By its name: collectives of NCCL and its like are communication, copies and memory sets are
// copies, all else computes.
WorkType TypeOfWork(std::string_view name);

struct DeviceEvent {
  int64_t begin_ns, end_ns;
  int64_t device, stream;
  trace::TrackId track;
  trace::SpanIndex span;
  WorkType type;
  // The call that launched it; none where no arrow leads here.
  trace::TrackId launch_track;
  trace::SpanIndex launch = trace::kNoSpan;
  bool work() const { return type != WorkType::kWait; }
  bool launched() const { return launch_track.valid() && launch != trace::kNoSpan; }
};

struct ProcessWork {
  trace::ProcessId process;
  std::vector<DeviceEvent> events;  // by begin
};

struct DeviceWork {
  explicit DeviceWork(const trace::Trace& trace);
  // Null where the process has no device tracks.
  const ProcessWork* of(trace::ProcessId process) const;

  std::vector<ProcessWork> processes;  // that have device tracks, in the trace's order
};

// By set of work types (bit 1 << type): the time in which just these were at work.
using TypeSums = std::array<int64_t, 1 << kWorkTypes>;
TypeSums SumTypes(std::span<const DeviceEvent> events);

// First begin and last end of what works; begin > end where nothing does.
trace::Interval ExtentOf(std::span<const DeviceEvent> events);

// What of them lies in the window, joined where they touch. Requires: by begin.
std::vector<trace::Interval> UnionOf(const std::vector<trace::Interval>& intervals,
                                     trace::Interval window);
// When any device of the process was at work in the window: disjoint, in order.
std::vector<trace::Interval> BusyIntervals(const ProcessWork& work, trace::Interval window);

// A number among a span's arguments; kMissing (table.h) where there is none of that key.
int64_t NumberArg(const trace::Track& track, trace::SpanIndex span, trace::StringId key);
// A text; "" where there is none of that key.
std::string_view TextArg(const trace::Trace& trace, const trace::Track& track,
                         trace::SpanIndex span, trace::StringId key);

// The begin and end of a span, its own end where it was cut for its parent's sake.
trace::Interval IntervalOf(const trace::Trace& trace, trace::TrackId track, trace::SpanIndex span);

}  // namespace crosscut::analyze
