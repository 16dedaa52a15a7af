// Steps: one row each, what each was made of, and those that took unusually long.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, step, kind, begin_ns, end_ns, control, level, after_switch, wall_ns = host_ns +
// overlap_ns + device_ns + idle_ns + unknown_ns + control_ns (pauses are in none of them),
// corrected_ns, corrected_low_ns, corrected_high_ns: without Crosscut's own cost, and the
// bounds of what an unrecorded run would show. open: 1 where nobody told the step's end, which is
// that of its work then (trace::Step).
Table StepsTable(const trace::Trace& trace, const Context& context);
// process, step, layers, device, ns: the steps' share of the partition. Sums to wall_ns by step.
Table StepLayersTable(const trace::Trace& trace, const Context& context);
// process, step, kind, begin_ns, wall_ns, median_ns (of the kind's steps at
// its level), layers (the
// set that grew most against its own median), device, grew_ns. Profiled steps longer than the
// median by 5 median absolute deviations and by 10 %; at most 50 of a process, the longest first.
// Of the steps that are compared (step_summary.h).
Table OutliersTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
