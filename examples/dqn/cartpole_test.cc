#include "cartpole.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dqn {
namespace {

// What numpy.random.RandomState(7) gives.
TEST(Random, DrawsWhatNumPyDraws) {
  Random random(7);
  EXPECT_EQ(random.Uniform(), 0.07630828937395717);
  EXPECT_EQ(random.Uniform(), 0.7799187922401146);
  EXPECT_EQ(random.Below(10), 4);
}

struct Seen {
  int step;
  CartPole::State state;
  bool terminated;
};

// From gymnasium 1.4.0: the first episode of CartPole-v1 with Generator(MT19937) of RandomState(7),
// pushed to the right at every step whose number, from 0, is no multiple of 3.
TEST(CartPole, MovesAsGymnasiumSays) {
  const Seen seen[] = {
      {0,
       {-0.04236917106260429, 0.02799187922401146, -0.006159076855910647, 0.022346517783094128},
       false},
      {1,
       {-0.04180933347812406, -0.16704120571286413, -0.005712146500248765, 0.31307983923654803},
       false},
      {2,
       {-0.04515015759238134, 0.02816165199106313, 0.0005494502844821964, 0.018600967628727982},
       false},
      {5,
       {-0.0395585975231742, 0.22332763422588323, -0.004175404024923522, -0.2750522613981289},
       false},
      {10,
       {-0.0015840888720872297, 0.4198425549830632, -0.05581235656753031, -0.5992095265228392},
       false},
      {17,
       {0.1005664304499198, 1.0146047930166937, -0.2149389201020629, -1.7175331341967788},
       true},
  };
  Random random(7);
  CartPole cart;
  cart.Reset(&random);
  int step = 0;
  Outcome outcome;
  for (const Seen& expected : seen) {
    for (; step < expected.step; ++step) outcome = cart.Step(step % 3 == 0 ? 0 : 1);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_DOUBLE_EQ(cart.state()[i], expected.state[i]) << "step " << step << ", number " << i;
    }
    EXPECT_EQ(outcome.terminated, expected.terminated) << "step " << step;
    EXPECT_EQ(outcome.reward, step == 0 ? 0 : 1);
  }
}

TEST(CartPole, ShowsItsStateAsFloats) {
  CartPole cart;
  cart.ResetTo({0.1, -0.2, 0.03, -0.04});
  const auto* const seen = reinterpret_cast<const float*>(cart.observation().data());
  ASSERT_EQ(cart.observation().size(), 4 * sizeof(float));
  EXPECT_EQ(seen[0], 0.1f);
  EXPECT_EQ(seen[1], -0.2f);
  EXPECT_EQ(seen[2], 0.03f);
  EXPECT_EQ(seen[3], -0.04f);
}

TEST(CartPole, EndsBeyondItsTrackAndItsAngle) {
  const double degrees = std::acos(-1) / 180;
  const auto ends = [](const CartPole::State& state) {
    CartPole cart;
    cart.ResetTo(state);
    return cart.Step(0).terminated;
  };
  EXPECT_FALSE(ends({2.39, 0.4, 0, 0}));
  EXPECT_TRUE(ends({2.39, 0.6, 0, 0}));
  EXPECT_TRUE(ends({-2.39, -0.6, 0, 0}));
  EXPECT_FALSE(ends({0, 0, 11.9 * degrees, 0}));
  EXPECT_TRUE(ends({0, 0, 11.9 * degrees, 0.2}));
  EXPECT_TRUE(ends({0, 0, -11.9 * degrees, -0.2}));
}

TEST(CartPole, IsCutOffAfter500Steps) {
  Random random(1);
  CartPole cart;
  cart.Reset(&random);
  Outcome outcome;
  int steps = 0;
  while (!outcome.over()) {
    const auto [x, x_dot, theta, theta_dot] = cart.state();
    outcome = cart.Step(0.1 * x + 0.3 * x_dot + 3 * theta + theta_dot > 0 ? 1 : 0);
    ++steps;
  }
  EXPECT_EQ(steps, 500);
  EXPECT_TRUE(outcome.truncated);
  EXPECT_FALSE(outcome.terminated);
}

}  // namespace
}  // namespace dqn
