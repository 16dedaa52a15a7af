// Operators and functions per step: what a step of each class holds of every name, from the steps
// that were recorded at a level which shows the name.
#pragma once

#include <string>
#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

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

}  // namespace crosscut::analyze
