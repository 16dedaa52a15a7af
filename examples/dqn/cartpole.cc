#include "cartpole.h"

#include <cmath>
#include <numbers>

namespace dqn {
namespace {

constexpr double kGravity = 9.8;
constexpr double kMassPole = 0.1;
constexpr double kMass = kMassPole + 1.0;
constexpr double kLength = 0.5;  // half the pole's
constexpr double kMassLength = kMassPole * kLength;
constexpr double kForce = 10.0;
constexpr double kSeconds = 0.02;
constexpr double kMaxPosition = 2.4;
constexpr double kMaxAngle = 12 * 2 * std::numbers::pi / 360;
constexpr int kMaxSteps = 500;

}  // namespace

void CartPole::Reset(Random* random) {
  State state;
  for (double& value : state) value = random->Uniform(-0.05, 0.05);
  ResetTo(state);
}

void CartPole::ResetTo(const State& state) {
  state_ = state;
  for (size_t i = 0; i < state.size(); ++i) observed_[i] = static_cast<float>(state[i]);
  steps_ = 0;
}

// The order of the operations is gymnasium's, so that rounding is.
Outcome CartPole::Step(int action) {
  auto& [x, x_dot, theta, theta_dot] = state_;
  const double force = action == 1 ? kForce : -kForce;
  const double cosine = std::cos(theta), sine = std::sin(theta);
  const double push = (force + kMassLength * (theta_dot * theta_dot) * sine) / kMass;
  const double theta_acc = (kGravity * sine - cosine * push) /
                           (kLength * (4.0 / 3.0 - kMassPole * (cosine * cosine) / kMass));
  const double x_acc = push - kMassLength * theta_acc * cosine / kMass;
  x = x + kSeconds * x_dot;
  x_dot = x_dot + kSeconds * x_acc;
  theta = theta + kSeconds * theta_dot;
  theta_dot = theta_dot + kSeconds * theta_acc;
  for (size_t i = 0; i < state_.size(); ++i) observed_[i] = static_cast<float>(state_[i]);
  const bool fell = std::abs(x) > kMaxPosition || std::abs(theta) > kMaxAngle;
  return {.reward = 1, .terminated = fell, .truncated = ++steps_ >= kMaxSteps};
}

}  // namespace dqn
