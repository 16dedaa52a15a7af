// Steps, a row for each: what each was made of, and which took unusually long.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, step, kind, begin_ns, end_ns, control, level, after_switch, wall_ns = host_ns +
// overlap_ns + device_ns + idle_ns + unknown_ns + control_ns (without pauses), corrected_ns,
// corrected_low_ns, corrected_high_ns (without Crosscut's own cost, and the bounds of what an
// unrecorded run would show), open (1 where the step's end is not known: it then ends with its
// work, trace::Step).
Table StepsTable(const trace::Trace& trace, const Context& context);
// process, step, begin_ns (of the step), layers, device, ns: the steps' share of the partition. The
// rows of a step sum to its wall_ns.
Table StepLayersTable(const trace::Trace& trace, const Context& context);
// process, step, kind, begin_ns, wall_ns, median_ns (of the kind's steps at its level), layers,
// device (the set that grew most against its own median), grew_ns. A row for each compared step
// (step_summary.h) that is longer than the median by 5 median absolute deviations and by 10 %,
// where at least 10 steps of the kind have its level; at most 50 of a process, the longest first.
Table OutliersTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
