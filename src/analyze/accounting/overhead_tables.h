// What Crosscut itself cost.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// probe, count, inside_ns, outside_ns, total_ns = inside_ns + outside_ns, low_ns, high_ns (of the
// total), subtracted_ns (the part on the critical path, which the corrected columns lack). A row
// stands for each probe kind, over all processes. Other rows: "step plan: switch"; "timed", the
// time in layer overhead alone; "before the window", what starting the recorder took, subtracted
// nowhere; "unplaced", what did not fit into the cells it was counted in. "unplaced" is negative in
// subtracted_ns, so that the column sums to ns - corrected_ns of the table overlap within rounding.
// The rows of Crosscut's own threads, as the drain's, are real time on those: subtracted_ns is 0.
Table OverheadTable(const trace::Trace& trace, const Context& context);

// process, level (as the step plan names it; "first after a switch"; "control, first after a
// switch"; "all": every step of the run, weighted by their numbers), steps, blocks (of the steps
// compared), step_ns, inflation, inflation_low, inflation_high (against control steps). Has only
// what could be compared.
Table OverheadLevelsTable(const trace::Trace& trace, const Context& context);

// A row for each process with steps: process, checked, message, control_steps, control_blocks,
// profiled_steps, profiled_blocks, inflation, inflation_low, inflation_high (profiled / control),
// scale, scale_low, scale_high (of the calibrated costs), step_ns, control_step_ns (typical steps),
// cost, cost_low, cost_high (what is subtracted from a typical profiled step, as a part of it),
// wander (how unsteadily the machine ran, as a fraction: wander.h), budget (of the recording, as a
// share of the program's own time; NaN: none).
Table OverheadCheckTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
