// What the agent has lived through, to learn from.
#ifndef DQN_REPLAY_H_
#define DQN_REPLAY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "environment.h"
#include "random.h"

namespace dqn {

// Transitions, one after the other: row i of every column belongs to the i-th.
struct Batch {
  std::vector<std::byte> before, after;  // observations, back to back
  std::vector<int64_t> action;
  std::vector<float> reward;
  std::vector<float> follows;  // 0 where `after` ended the episode by its own rules, else 1
  size_t size() const { return action.size(); }
};

// Keeps the newest `capacity` transitions. One thread.
class Replay {
 public:
  // Both > 0. The memory is touched as it fills.
  Replay(size_t capacity, size_t observation_bytes);

  // Copies; the oldest makes room. Both observations are of observation_bytes.
  void Add(std::span<const std::byte> before, int action, const Outcome& outcome,
           std::span<const std::byte> after);

  // Draws `count` of those kept, each with equal probability, with repetition. Only where size() >
  // 0. The memory of `batch` is used again.
  void Sample(size_t count, Random* random, Batch* batch) const;

  size_t size() const { return kept_.size(); }

 private:
  size_t capacity_, bytes_;
  size_t next_ = 0;  // the row that is written next
  Batch kept_;
};

}  // namespace dqn

#endif  // DQN_REPLAY_H_
