// Differences of tables whose rows have names: what appears, what vanishes, what changes.
#pragma once

#include <vector>

#include "src/analyze/table.h"
#include "src/compare/run.h"

namespace crosscut::compare {

// diff_functions, diff_kernels, diff_launches, diff_copies, diff_inputs, diff_modules,
// diff_samples, diff_memory: for each row of functions, kernels, ... on either side its names,
// `found` ("both", "A", "B"), and for each of its figures a_, b_ and change_, the latter exact.
// Rows of a run that have the same names are summed; a side's figure is the mean of its runs, in
// whole numbers, and kMissing where a part of it is not known. The row with the largest change of
// its last figure stands first.
//
// They are of whole runs: where a step plan chooses which steps show a name, totals depend on its
// choice, and the counts per step (step_counts.h) are what can be compared.
std::vector<analyze::Table> KeyedTables(const Sides& sides);

}  // namespace crosscut::compare
