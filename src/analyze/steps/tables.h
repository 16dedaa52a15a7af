// The tables of steps and requests, a row for each or for each kind.
#pragma once

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// Steps, a row for each: what each was made of, and which took unusually long.

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
// (step_summary.h), control step or step that was left out which is longer than the median by 5
// median absolute deviations and by 10 %, where at least 10 steps of the kind have its level; at
// most 50 of a process, the longest first.
Table OutliersTable(const trace::Trace& trace, const Context& context);

// Operators and functions per step: what a step of each class holds of every name, from the steps
// that were recorded at a level which shows the name.

// process, kind (class of steps, step_classes.h), layer, name, level (the lowest that shows the
// name), steps (that the figures come from), of_steps (all steps of the class), blocks,
// count_per_step, per_step_ns, low_ns, high_ns, self_per_step_ns (from the steps that show most, so
// that self times add up), total_ns (per_step_ns times of_steps). Times are the recorded lengths of
// spans that begin in the step, on host threads and devices. [low_ns, high_ns] holds the
// per_step_ns of a complete recording with 95 % confidence: from a block bootstrap, and from how
// much separate runs of one program differ. Both are kMissing under 3 blocks.
Table StepOperatorsTable(const trace::Trace& trace, const Context& context);

// process, kind (class of steps), steps, control_steps, marks_steps (left out by the budget),
// boundary_steps, operator_steps, everything_steps, median_ns (of all of them).
Table StepKindsTable(const trace::Trace& trace, const Context& context);

// Requests by route or handler: how many, how long, how many at once.
// process, request (its route or handler), what ("request", or "task": a function that was called
// again and again), count, open (of them, how many never ended; they count in nothing that follows
// but concurrency), total_ns, mean_ns, p50_ns, p90_ns, p99_ns, max_ns, running_ns, waiting_ns
// (means of those of which it is known for how long a thread worked for them: they sum to these
// requests' mean; kMissing: it is known of none), most (how many at once), concurrency (on the
// mean, while there is one at least), per_second (from the begin of the process's first request to
// the end of its last). What took longest in sum stands first.
Table RequestsTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
