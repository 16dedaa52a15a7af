// The training loop.
#ifndef DQN_TRAIN_H_
#define DQN_TRAIN_H_

#include <cstdint>

#include "agent.h"
#include "environment.h"
#include "settings.h"

namespace dqn {

struct Result {
  int64_t steps = 0;        // trained
  int64_t kept_step = 0;    // when the network that was kept was evaluated
  double kept_return = 0;   // then, the mean of settings.evaluate_episodes
  double final_return = 0;  // of the network that was kept, the mean of settings.final_episodes
  double seconds = 0;       // of training, without evaluations
};

// The mean return of `episodes` greedy episodes that begin as `seed` says.
double Evaluate(Agent* agent, Environment* environment, int64_t episodes, uint32_t seed);

// Trains until settings.steps or an evaluation of settings.stop_at, evaluates every
// settings.evaluate_period steps and at the end, keeps the best network (the later one of equals),
// and leaves it in `agent` and in settings.checkpoint. Prints every evaluation, and writes it to
// settings.curve. Marks steps (kinds "collect" and "learn"), the phases "train" and "evaluate" and
// the operations "inference", "simulate", "replay" and "backprop". Throws std::runtime_error for a
// file that cannot be written, and torch's exceptions. The agent trains in the environment
// `trained` and is evaluated in `evaluated`, another of the same kind.
Result Train(const Settings& settings, Agent* agent, Environment* trained, Environment* evaluated);

}  // namespace dqn

#endif  // DQN_TRAIN_H_
