// Which steps of a run keep their spans in a timeline.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/analyze/context.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

struct KeptStep {
  uint32_t step;      // index into Process::steps
  std::string title;  // "step 41, typical"
  bool asked;         // it was asked for by its number
};

// The steps of a process whose spans are worth most, those first: the ones whose numbers are
// `asked` for; a typical and the slowest step of each kind; a typical one of each level of the step
// plan and of each class of alike steps; more of the slowest; some from all over the run. Each step
// once.
std::vector<KeptStep> RankSteps(const Context& context, uint32_t process,
                                std::span<const int64_t> asked);

}  // namespace crosscut::analyze
