// Which steps are alike. A program's steps of one kind may hold different work: the first ones warm
// up, some evaluate, sequences have different lengths. What tables say per step, they say for steps
// of one class.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/analyze/accounting/overhead.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

struct StepClass {
  std::string name;  // the kind; "step, warm-up", "step, longer", "step, shorter", "step, unusual"
  trace::StringId kind;
};

struct StepClasses {
  static constexpr uint32_t kNone = UINT32_MAX;
  std::vector<StepClass> classes;
  // By index into Process::steps; kNone for steps that a pause broke, that are empty or whose end
  // is not known.
  std::vector<uint32_t> of_step;
};

// `samples` are those of the process's steps, in their order. Lengths are compared after the
// inflation of their level is taken off, where it was measured.
//
// Warm-up: the first steps of a kind, at most 5 % of them, while they take 1.25 times the median.
// Longer, shorter: two groups of lengths whose centres lie apart by a factor of 1.3 and by four
// times the spread inside them, each with 2 % of the steps and at least 6; a group may be split
// once more. The largest group keeps the kind's name. Unusual: five deviations and 25 % away from
// the group's median.
StepClasses ClassifySteps(const trace::Trace& trace, const trace::Process& process,
                          const std::vector<StepSample>& samples, const Inflation& inflation);

}  // namespace crosscut::analyze
