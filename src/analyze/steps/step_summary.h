// Steps in a row for each kind: how many there are, how long they take, how far apart they lie. The
// one place that says which steps are compared with each other, and which of them is the slowest.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analyze/accounting/overhead.h"
#include "src/analyze/accounting/overlap.h"
#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// The steps of one kind of a process. A step is compared if it is no control step and was not left
// out, its end is known (Step::open is not set), it is not entirely paused, and the probes were not
// switched at its begin. If they were switched at the begin of every such step of the kind, these
// are compared.
struct ComparedSteps {
  trace::StringId kind;
  // Those that lie in the window, as window_parts counts them; recorded: at other levels.
  int64_t recorded = 0, control = 0, left_out = 0;
  std::vector<uint32_t> whole;  // indices into Process::steps: of all levels whose length is known
  std::vector<uint32_t> steps;  // the shortest first
  std::vector<uint32_t> usual;  // those at the level that most of them have, likewise
};

// The kinds in order of their first step. `wall_ns` (by step) is without pauses, as StepWalls gives
// it.
std::vector<ComparedSteps> CompareSteps(const trace::Process& process,
                                        const std::vector<int64_t>& wall_ns);
// Of `steps`, those of the level that most of them have, in their order.
std::vector<uint32_t> AtUsualLevel(const trace::Process& process,
                                   const std::vector<uint32_t>& steps);
// The length of each step without pauses, in nanoseconds.
std::vector<int64_t> StepWalls(const trace::Process& process, const ProcessOverlap& overlap);

// Quantile's (quantiles.h); 0 of none.
int64_t Median(std::vector<int64_t> values);
// What a usual one of these lengths is, and the limit above which one is unusually long: five
// median absolute deviations and 10 % above the median.
struct UsualLength {
  int64_t median_ns = 0, limit_ns = 0;
};
UsualLength UsualLengthOf(std::vector<int64_t> lengths_ns);

// A cell of that step without Crosscut's own cost, in nanoseconds. Below 0 where the probes should
// have cost more than the cell has.
double CorrectedNs(const trace::Step& step, const StepCell& cell, const Estimate& estimate);

// process, kind, steps, control_steps, marks_steps, median_ns, p10_ns, p90_ns, min_ns, max_ns,
// slowest_step: a row for each process and kind of step. slowest_step is the number of the longest
// step that is compared, at any level, and max_ns its length. The other figures are of the compared
// steps at the level that most of them have, by nearest rank. kMissing where there are none.
Table StepSummaryTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
