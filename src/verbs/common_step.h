// The step at which processes that count the same steps begin or end a window together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace crosscut::verbs {

struct CountedSteps {
  std::string title;             // of the process
  uint64_t before = 0, now = 0;  // steps begun when a sample began and when it ended
};

struct StepPace {
  double sample_seconds;  // how long the sample took
  double ahead_seconds;   // how long requests may take
  double timeout;         // s that a process may need to get to the step
};

// The first step that all can still reach, by the pace of the fastest one. kInvalid where a process
// is so far behind that it counts other steps.
Result<uint64_t> CommonStep(const std::vector<CountedSteps>& processes, const StepPace& pace);

}  // namespace crosscut::verbs
