// What processes took of the machine over time, from the looks of Crosscut's drain thread.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// The counters that the recorder writes: CPU time of the process so far, and resident memory.
inline constexpr const char* kCpuCounter = "crosscut.cpu_ns";
inline constexpr const char* kResidentCounter = "crosscut.resident_bytes";

// A row from each look at a process to its next: process, begin_ns, end_ns, cpu_ns (of all its
// threads), cpu_percent (100 * cpu_ns / (end_ns - begin_ns): 100 is one core), resident_bytes (the
// most of the looks in it; missing where they could not tell), device_busy_ns (any of its devices,
// by their spans; missing where there are none), device_percent. Where a process was looked at more
// than 600 times, equal numbers of looks make a row. No rows where nobody looked: imported traces,
// and processes that recorded for less than half a second.
Table UtilizationTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
