// How often things happen in a step. Counts are exact: one that changed is a fact and not noise.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analyze/table.h"
#include "src/compare/roles.h"
#include "src/compare/step_tables.h"

namespace crosscut::compare {

// process, what, a_steps, b_steps, a_count, b_count, a_low, a_high, b_low, b_high, changed: how
// many "operators", "launches", "kernels", "copies", "collectives", "allocations" and "allocated
// bytes" there are in the steps of the kind that is compared. They are counted in the steps of the
// highest level that has kFewestCounted of them on either side; a_steps are these, a_count is the
// sum over them, and each of them has a_low to a_high. `changed`: 1 where no step of B has a number
// that one of A has, which leaves out whatever differs from step to step. Work on a device belongs
// to the step in which it was launched. A thing that neither side has has no row.
analyze::Table StepCountsTable(const Sides& sides, const std::vector<Role>& roles,
                               const std::vector<RoleSteps>& steps);

// The same for each name, and its time: process, layer, name, operation, found ("both", "A", "B"),
// a_steps, ..., changed, a_ns, b_ns, change_ns: nanoseconds per step, inclusive, as recorded.
// `operation`: the lead's innermost one, if they are all begun in one; of work on a device,
// launched.
analyze::Table StepNamesTable(const Sides& sides, const std::vector<Role>& roles,
                              const std::vector<RoleSteps>& steps);

inline constexpr int64_t kFewestCounted = 3;

}  // namespace crosscut::compare
