// How often the agent explores.
#ifndef DQN_SCHEDULE_H_
#define DQN_SCHEDULE_H_

#include <algorithm>
#include <cstdint>

namespace dqn {

// A straight line from `first` at step 0 to `last` at step `steps` (> 0), and `last` from then on.
struct Schedule {
  double first, last;
  int64_t steps;

  double At(int64_t step) const {
    const double passed = std::min(1.0, static_cast<double>(step) / static_cast<double>(steps));
    return first + passed * (last - first);
  }
};

}  // namespace dqn

#endif  // DQN_SCHEDULE_H_
