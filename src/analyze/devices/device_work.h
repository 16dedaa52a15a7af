// The work on devices, by process: every table about devices is made of it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "src/trace/intervals.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

enum class WorkType : uint8_t { kComputation, kCommunication, kCopy, kWait };
inline constexpr int kWorkTypes = 3;  // kWait is no work: a record of waiting by a device's library
std::string_view NameOf(WorkType type);
// The type of spans of that name: waits and communication by their layer; else collectives of NCCL
// and its like are communication, copies and memory sets are copies, and the rest is computation.
WorkType TypeOfWork(const trace::Trace& trace, const trace::Name& name);

struct DeviceEvent {
  int64_t begin_ns, end_ns;
  int64_t device, stream;
  trace::TrackId track;
  trace::SpanIndex span;
  WorkType type;
  // The call that launched it; none where no arrow leads to it.
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
  // Null where the process has no events on devices.
  const ProcessWork* of(trace::ProcessId process) const;
  // The process's events by begin; none where it has none.
  std::span<const DeviceEvent> events(trace::ProcessId process) const {
    const ProcessWork* const work = of(process);
    return work == nullptr ? std::span<const DeviceEvent>() : work->events;
  }

  std::vector<ProcessWork> processes;  // those with events on devices, in the trace's order
};

// Nanoseconds by set of work types (bit 1 << type): the time in which exactly these were at work.
using TypeSums = std::array<int64_t, 1 << kWorkTypes>;
TypeSums SumTypes(std::span<const DeviceEvent> events);

// The first begin and last end of work; begin > end where there is none.
trace::Interval ExtentOf(std::span<const DeviceEvent> events);

// When any device of the process was at work in the window: disjoint, in order.
std::vector<trace::Interval> BusyIntervals(const ProcessWork& work, trace::Interval window);

// A number among a span's arguments; kMissing (table.h) where that key has none.
int64_t NumberArg(const trace::Track& track, trace::SpanIndex span, trace::StringId key);
// A text among a span's arguments; "" where that key has none.
std::string_view TextArg(const trace::Trace& trace, const trace::Track& track,
                         trace::SpanIndex span, trace::StringId key);

// A span's begin and end. The end is its own one even where the span was cut to fit its parent.
trace::Interval IntervalOf(const trace::Trace& trace, trace::TrackId track, trace::SpanIndex span);

}  // namespace crosscut::analyze
