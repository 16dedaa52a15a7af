// Parts of a process's life: its phases, and how far it had come when the recording ended.
#pragma once

#include <cstdint>

#include "src/analyze/context.h"
#include "src/analyze/table.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// The counter that crosscut_progress() writes; its values are parts of kProgressWhole.
inline constexpr const char* kProgressCounter = "crosscut.progress";
inline constexpr int64_t kProgressWhole = 1'000'000'000;

// process, parent, phase ("" between phases), begin_ns, end_ns, wall_ns (= host_ns + overlap_ns +
// device_ns + idle_ns + unknown_ns + control_ns), any_host_ns (host_ns + overlap_ns), any_device_ns
// (overlap_ns + device_ns), excluded_ns (paused). Rows are in order of time; those of a process
// cover its window. A process without phases has one row.
Table PhasesTable(const trace::Trace& trace, const Context& context);

// What the whole program would take, extrapolated from its progress: the time between the first and
// the last call of progress(), divided by the progress made between them. With one call only, the
// stretch begins with the window, at 0. process, operation ("(all)" first), begin_ns, end_ns,
// from_fraction, to_fraction, recorded_ns (between them), and extrapolated: total_ns, the classes
// of metrics.h, which sum to it, and excluded_ns (paused; only in the rows "(all)"). A process
// without progress has no row.
Table ProgressTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
