// Steps in a line: how many, how long, how far apart. The one place that says which steps are
// compared with each other, and which of them is the slowest.
#pragma once

#include <vector>

#include "src/analyze/accounting/overlap.h"
#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// The steps of one kind of a process. A step is compared where it was recorded (no control step),
// its end was told (Step::open is not set), not all of it was paused, and the probes were not
// switched at its begin; where they were at all of a kind, those are compared.
struct ComparedSteps {
  trace::StringId kind;
  int64_t recorded = 0, control = 0;  // recorded: with their end
  std::vector<uint32_t> steps;        // indices into Process::steps, the shortest first
  std::vector<uint32_t> usual;        // those of the level that most of them have, likewise
};

// By kind, in order of their first step. `wall_ns` (by step) is without pauses.
std::vector<ComparedSteps> CompareSteps(const trace::Process& process,
                                        const std::vector<int64_t>& wall_ns);
std::vector<int64_t> StepWalls(const trace::Process& process, const ProcessOverlap& overlap);

// process, kind, steps, control_steps, median_ns, p10_ns, p90_ns, min_ns, max_ns, slowest_step: a
// row for each process and kind of step. max_ns is the length of slowest_step, the longest of the
// steps that are compared, at any level; the others are of those at the level that most of them
// have, by nearest rank. kMissing where there are none.
Table StepSummaryTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
