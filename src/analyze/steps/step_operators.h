// Operators and functions per step: what a step of each class holds of every name, from the steps
// that were recorded at a level which shows it.
#pragma once

#include <string>
#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// process, kind (class of steps, step_classes.h), layer, name, level (the lowest that shows the
// name), steps (that the figures come from), of_steps (all steps of the class), blocks,
// count_per_step, per_step_ns, low_ns, high_ns, self_per_step_ns (from the steps that show most, so
// that self times add up), total_ns (per_step_ns times of_steps). Times are lengths of spans that
// begin in the step, on host threads and devices, as they were recorded. [low_ns, high_ns]: where a
// complete recording's per_step_ns would lie, 95 %: block bootstrap, and what separate runs of one
// program differ by; kMissing under 3 blocks.
Table StepOperatorsTable(const trace::Trace& trace, const Context& context);

// process, kind (class), steps, control_steps, boundary_steps, operator_steps, everything_steps,
// median_ns (of all of them).
Table StepKindsTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
