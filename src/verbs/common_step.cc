#include "src/verbs/common_step.h"

#include <algorithm>
#include <cmath>

namespace crosscut::verbs {

Result<uint64_t> CommonStep(const std::vector<CountedSteps>& processes, const StepPace& pace) {
  uint64_t most = 0, made = 0;
  for (const CountedSteps& one : processes) {
    most = std::max(most, one.now);
    made = std::max(made, one.now - one.before);
  }
  const double fastest = static_cast<double>(made) / pace.sample_seconds;
  const auto ahead = static_cast<uint64_t>(std::ceil(fastest * pace.ahead_seconds)) + 2;
  for (const CountedSteps& one : processes) {
    const auto left = static_cast<double>(most + ahead - one.now);
    const double own = static_cast<double>(one.now - one.before) / pace.sample_seconds;
    if (left <= static_cast<double>(ahead) * 10 + 100 || left <= own * pace.timeout) continue;
    return Status::Invalid(one.title + " is at step " + std::to_string(one.now) +
                           ", another at step " + std::to_string(most) +
                           ": they count different steps; --now starts and stops them without "
                           "waiting for a step");
  }
  return most + ahead;
}

}  // namespace crosscut::verbs
