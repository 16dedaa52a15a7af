// What processes took of the machine over time, as Crosscut looked at it.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// The counters that the recorder writes: CPU time of the process so far in nanoseconds, resident
// memory in bytes, and the most that it was so far.
inline constexpr const char* kCpuCounter = "crosscut.cpu_ns";
inline constexpr const char* kResidentCounter = "crosscut.resident_bytes";
inline constexpr const char* kPeakCounter = "crosscut.peak_bytes";

// A row from each sample of a process to its next: process, begin_ns, end_ns, cpu_ns (of all its
// threads), cpu_percent (100 * cpu_ns / (end_ns - begin_ns): 100 is one core), resident_bytes (the
// most of the samples in the row; missing where they do not tell), peak_bytes (the most since the
// process's program began; missing where no sample in the row tells), device_busy_ns (when any of
// its devices had work; missing where it has none), device_percent. Where a process has more than
// 600 such rows, equal numbers of samples make a row. Imported traces, and processes that were
// killed in their first half second, have no rows.
Table UtilizationTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
