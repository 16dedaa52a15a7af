// The hyper-parameters: files of `name = value` that the agent in Python reads, too.
#ifndef DQN_SETTINGS_H_
#define DQN_SETTINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "schedule.h"

namespace dqn {

struct Settings {
  std::string environment;  // "cartpole", "pong"
  std::string rom;          // pong: the file of the game
  std::string checkpoint;   // where the best network is kept; "": nowhere
  std::string curve;        // where the evaluations are written as CSV; "": nowhere

  int64_t seed = 1;
  int64_t steps = 0;      // of the environment, at most
  double stop_at = 1e30;  // an evaluation this good ends the training

  int64_t hidden = 64;  // width of the hidden layers
  double learning_rate = 1e-3;
  double discount = 0.99;
  double gradient_norm = 10;    // the gradient is cut to it
  int64_t batch = 64;           // transitions of an update
  int64_t replay = 50000;       // transitions kept
  int64_t learn_start = 1000;   // steps before the first update
  int64_t learn_period = 4;     // steps from update to update
  int64_t target_period = 500;  // steps from copy to copy into the target network
  Schedule epsilon = {1.0, 0.05, 10000};

  int64_t evaluate_period = 10000;  // steps from evaluation to evaluation
  int64_t evaluate_episodes = 20;
  int64_t final_episodes = 100;  // of the network that was kept, at the end
};

// Reads the file `arguments[0]`, then applies each further argument, a `name=value`. Throws
// std::runtime_error that names the file and line, or the argument, and what is wrong with it.
Settings ReadSettings(const std::vector<std::string>& arguments);

}  // namespace dqn

#endif  // DQN_SETTINGS_H_
