// Which steps are alike: a program's steps of one kind may hold different work. The first ones warm
// up, some evaluate, sequences have different lengths. What is said per step is said for steps of
// one class.
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
  // By index into Process::steps; kNone for steps that are not whole: broken by a pause, or ending
  // with the process.
  std::vector<uint32_t> of_step;
};

// `samples` are those of the process's steps, in their order. Lengths are compared after the
// inflation of their level was taken off, where it was measured.
//
// Warm-up: the first steps of a kind, at most 5 % of them, while they take 1.25 x the median.
// Longer, shorter: two groups of lengths whose centres lie 1.3 x apart and by four times the spread
// inside them, each with 2 % of the steps and 6 of them; split again alike. The largest group keeps
// the kind's name. Unusual: five deviations and 25 % away from its group's median.
StepClasses ClassifySteps(const trace::Trace& trace, const trace::Process& process,
                          const std::vector<StepSample>& samples, const Inflation& inflation);

}  // namespace crosscut::analyze
