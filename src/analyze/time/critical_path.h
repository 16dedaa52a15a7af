// What the end of a process depended on, walked backwards from it: the tables critical_path (by
// what) and critical_path_segments (in order). The segments of a process cover its window without
// its pauses, and do not overlap, so they add up to it.
//
// The walk: on a thread it follows the innermost span. Where that is a call that waited for a
// device (device_waits.h), it goes to the device at the end of the work that the call waited for.
// On a device it follows the work. Before the work, it goes to the work before it on its stream
// where that ended after the launch ("queued"), else to the launching call ("launch"). A thread
// that runs nothing hands over to the thread whose span ended last; of a process with more than 128
// threads, only the busiest are looked at. After CRISP (Zhang et al., ATC 2022), with launches and
// waits as in HTA's graph.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

struct PathSegment {
  enum Kind : uint8_t { kHost, kDevice, kLaunch, kQueued, kUnknown };
  int64_t begin_ns, end_ns;
  Kind kind;
  trace::TrackId track;                    // none: kUnknown
  trace::SpanIndex span = trace::kNoSpan;  // of kLaunch and kQueued: the work
};

// In order of time. Empty for a process without threads.
std::vector<PathSegment> FindCriticalPath(const trace::Trace& trace, const Context& context,
                                          trace::ProcessId process);

Table CriticalPathTable(const trace::Trace& trace, const Context& context);
Table CriticalPathSegmentsTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
