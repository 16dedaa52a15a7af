// Parts of a process's life: its phases, and how far it had come where the recording ended.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// The name of the counter that crosscut_progress() writes; its values are parts of 10^9.
inline constexpr const char* kProgressCounter = "crosscut.progress";
inline constexpr int64_t kProgressWhole = 1'000'000'000;

// process, parent, phase ("" between phases), begin_ns, end_ns, wall_ns (= host_ns + overlap_ns +
// device_ns + idle_ns + unknown_ns + control_ns), any_host_ns (host_ns + overlap_ns),
// any_device_ns (overlap_ns + device_ns), excluded_ns (paused). In order of time; the rows of a
// process cover its window, so they sum to it. A process without phases has one row.
Table PhasesTable(const trace::Trace& trace, const Context& context);

// What the whole program would take, from how far it came: between the first and the last call of
// progress(), divided by the progress made. Where there is one call only, from the window's begin
// and 0 on. process, operation ("(all)" first), begin_ns, end_ns, from_fraction, to_fraction,
// recorded_ns (between them), and extrapolated: total_ns and the classes of metrics.h, which sum to
// it. Paused time is in excluded_ns, of the rows "(all)". No row where nothing progressed.
Table ProgressTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
