// The tables of a comparison beside those of its steps (step_tables.h). A row's role is in column
// `process`.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analyze/table.h"
#include "src/compare/roles.h"
#include "src/compare/step_tables.h"

namespace crosscut::compare {

// process, a_runs, b_runs, a_process, b_process, a_window_ns, b_window_ns, change_ns: a row for
// each role. *_runs: how many runs of the side have it; *_process: its label in the first of these,
// as other tables name it. The window of a side is the mean of those runs.
analyze::Table ProcessesTable(const Sides& sides, const std::vector<Role>& roles);

// process, part, operation, a_ns, b_ns, change_ns: the windows of the same, by part (window_parts)
// and operation, as recorded. The rows of a process sum to its row of diff_processes, to the
// nanosecond.
analyze::Table WindowTable(const Sides& sides, const std::vector<Role>& roles);

// How often things happen in a step. Counts are exact: one that changed is a fact and not noise.
//
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

// Which lines of an operation changed, by samples.
//
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

// What appears, vanishes and changes in tables whose rows have names:
// diff_functions, diff_kernels, diff_launches, diff_copies, diff_inputs, diff_modules,
// diff_samples, diff_memory: for each row of functions, kernels, ... on either side its names,
// `found` ("both", "A", "B"), and for each of its figures a_, b_ and change_, the latter exact.
// Rows of a run that have the same names are summed; a side's figure is the mean of its runs, in
// whole numbers, and kMissing where a part of it is not known. The row with the largest change of
// its last figure stands first.
//
// They are of whole runs: where a step plan chooses which steps show a name, totals depend on its
// choice, and the counts per step (diff_step_names) are what can be compared.
std::vector<analyze::Table> KeyedTables(const Sides& sides);

}  // namespace crosscut::compare
