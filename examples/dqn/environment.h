// What the agent acts in.
#ifndef DQN_ENVIRONMENT_H_
#define DQN_ENVIRONMENT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "random.h"

namespace dqn {

// What one step gave. `terminated`: the episode ended by its own rules, nothing follows.
// `truncated`: it was cut off by a limit of steps; the value of what would have followed counts.
struct Outcome {
  float reward = 0;
  bool terminated = false;
  bool truncated = false;
  bool over() const { return terminated || truncated; }
};

// One observation is observation().size() bytes: floats where shape() has one dimension, else
// pixels of one byte. One thread at a time.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual std::vector<int64_t> shape() const = 0;
  virtual int actions() const = 0;
  // Begins an episode; what is random in its begin is drawn from `random`.
  virtual void Reset(Random* random) = 0;
  // `action` in 0..actions() - 1. Not after an outcome that is over().
  virtual Outcome Step(int action) = 0;
  // As of the last Reset() or Step(); valid until the next.
  virtual std::span<const std::byte> observation() const = 0;
};

}  // namespace dqn

#endif  // DQN_ENVIRONMENT_H_
