// Processes and their whole windows, side by side.
#pragma once

#include <vector>

#include "src/analyze/table.h"
#include "src/compare/roles.h"

namespace crosscut::compare {

// process, a_runs, b_runs, a_process, b_process, a_window_ns, b_window_ns, change_ns: a row for
// each role. *_runs: how many runs of the side have it; *_process: its label in the first of these,
// as other tables name it. The window of a side is the mean of those runs.
analyze::Table ProcessesTable(const Sides& sides, const std::vector<Role>& roles);

// process, part, operation, a_ns, b_ns, change_ns: the windows of the same, by part (window_parts)
// and operation, as recorded. The rows of a process sum to its row of diff_processes, to the
// nanosecond.
analyze::Table WindowTable(const Sides& sides, const std::vector<Role>& roles);

}  // namespace crosscut::compare
