// CartPole-v1: a pole on a cart that is pushed to the left or to the right.
#ifndef DQN_CARTPOLE_H_
#define DQN_CARTPOLE_H_

#include <array>
#include <cstdint>

#include "environment.h"

namespace dqn {

// Gymnasium's CartPole-v1 (Barto, Sutton and Anderson 1983, integrated by Euler's method at 20 ms)
// to the last bit, given the same random numbers. Observed are position (m), velocity, angle (rad)
// and angular velocity, as floats. Every step gives 1. Terminated beyond 2.4 m or 12 degrees,
// truncated after 500 steps.
class CartPole : public Environment {
 public:
  using State = std::array<double, 4>;

  std::vector<int64_t> shape() const override { return {4}; }
  int actions() const override { return 2; }
  void Reset(Random* random) override;
  Outcome Step(int action) override;
  std::span<const std::byte> observation() const override {
    return std::as_bytes(std::span(observed_));
  }

  const State& state() const { return state_; }
  // Begins an episode in `state`.
  void ResetTo(const State& state);

 private:
  State state_ = {};
  std::array<float, 4> observed_ = {};
  int steps_ = 0;
};

}  // namespace dqn

#endif  // DQN_CARTPOLE_H_
