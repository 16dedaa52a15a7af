// The agent: its networks and its optimizer. Nothing of torch shows here.
#ifndef DQN_AGENT_H_
#define DQN_AGENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "replay.h"
#include "settings.h"

namespace dqn {

// One thread; torch is set to compute on one, too. What takes time in torch is marked as layer
// "framework". Every call may throw torch's exceptions.
class Agent {
 public:
  // Observations of `shape`, see network.h; floats of one dimension, bytes of three. The weights
  // follow from settings.seed.
  Agent(const std::vector<int64_t>& shape, int actions, const Settings& settings);
  ~Agent();

  // The action of the greatest value.
  int Act(std::span<const std::byte> observation);
  // One step of Adam on the loss of `batch`, which is returned.
  float Learn(const Batch& batch);
  // The network's parameters become the target network's.
  void UpdateTarget();

  // The network's parameters, in a file of torch or in memory.
  void Save(const std::string& path) const;
  void Load(const std::string& path);
  void Keep();     // as the best so far
  void Restore();  // what was kept last, if anything

 private:
  struct Networks;
  std::unique_ptr<Networks> it_;
};

}  // namespace dqn

#endif  // DQN_AGENT_H_
