// Which lines of an operation changed, by samples.
#pragma once

#include <vector>

#include "src/analyze/table.h"
#include "src/compare/roles.h"
#include "src/compare/step_tables.h"

namespace crosscut::compare {

// process, operation, line, a_samples, b_samples, a_ns, b_ns, change_ns, low_ns, high_ns, kind,
// a_line: a row for each of the program's own lines in which samples saw the lead of a process
// inside an operation, in the steps of a kind that are compared, those that changed most first.
// a_ns: what an operation takes of the mean step on that side, by the line's share of its samples;
// low_ns and high_ns: the 95 % interval that the samples leave the change. line: as B has it, where
// it does; a_line: as A has it, where it has another place there (moved_lines.h), else "". Nothing
// of steps that are not compared, nor of an operation that takes time on a side and has no samples
// there.
analyze::Table StepLinesTable(const Sides& sides, const std::vector<Role>& roles,
                              const std::vector<RoleSteps>& steps);

}  // namespace crosscut::compare
