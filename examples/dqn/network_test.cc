#include "network.h"

#include <gtest/gtest.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>

namespace dqn {
namespace {

constexpr double kDiscount = 0.9;

// Eight transitions in double precision, so that differences of losses mean something.
Transitions Made(std::vector<int64_t> shape) {
  shape.insert(shape.begin(), 8);
  return {torch::rand(shape, torch::kDouble), torch::rand(shape, torch::kDouble),
          torch::randint(0, 2, {8}, torch::kInt64), 3 * torch::rand({8}, torch::kDouble) - 1,
          torch::tensor({1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0}, torch::kDouble)};
}

struct Pair {
  explicit Pair(const std::vector<int64_t>& shape) {
    torch::manual_seed(11);
    network = MakeNetwork(shape, 2, 6);
    target = MakeNetwork(shape, 2, 6);
    network->to(torch::kDouble);
    target->to(torch::kDouble);
    transitions = Made(shape);
  }
  torch::Tensor NewLoss() { return Loss(network, target, transitions, kDiscount); }

  torch::nn::Sequential network, target;
  Transitions transitions;
};

// Every `stride`-th weight's gradient against the central difference of the loss.
void CheckGradient(const std::vector<int64_t>& shape, int64_t stride) {
  constexpr double kStep = 1e-6;
  Pair pair(shape);
  pair.NewLoss().backward();
  int64_t checked = 0, not_zero = 0;
  for (torch::Tensor& parameter : pair.network->parameters()) {
    const torch::Tensor gradient = parameter.grad().flatten();
    const torch::NoGradGuard no_gradient;
    torch::Tensor weights = parameter.flatten();  // a view: parameters are contiguous
    for (int64_t i = 0; i < weights.numel(); i += stride, ++checked) {
      const double was = weights[i].item<double>();
      weights[i] = was + kStep;
      const double above = pair.NewLoss().item<double>();
      weights[i] = was - kStep;
      const double below = pair.NewLoss().item<double>();
      weights[i] = was;
      const double expected = (above - below) / (2 * kStep);
      EXPECT_NEAR(gradient[i].item<double>(), expected, 1e-8 + 1e-5 * std::abs(expected));
      if (std::abs(expected) > 1e-6) ++not_zero;
    }
  }
  EXPECT_GT(not_zero, checked / 4);
}

TEST(Loss, HasTheGradientOfItsFiniteDifferences) { CheckGradient({3}, 1); }
TEST(Loss, HasTheGradientOfItsFiniteDifferencesInPictures) { CheckGradient({2, 12, 14}, 37); }

TEST(Loss, IsTheHuberLossAgainstRewardAndDiscountedFuture) {
  Pair pair({3});
  const torch::Tensor values = pair.network->forward(pair.transitions.before);
  const torch::Tensor future = pair.target->forward(pair.transitions.after);
  double sum = 0;
  for (int64_t i = 0; i < 8; ++i) {
    const double best = std::max(future[i][0].item<double>(), future[i][1].item<double>());
    const double expected = pair.transitions.reward[i].item<double>() +
                            kDiscount * pair.transitions.follows[i].item<double>() * best;
    const int64_t action = pair.transitions.action[i].item<int64_t>();
    const double off = std::abs(values[i][action].item<double>() - expected);
    sum += off < 1 ? off * off / 2 : off - 0.5;
  }
  EXPECT_NEAR(pair.NewLoss().item<double>(), sum / 8, 1e-12);
}

TEST(Loss, GivesTheTargetNetworkNoGradient) {
  Pair pair({3});
  pair.NewLoss().backward();
  for (const torch::Tensor& parameter : pair.target->parameters()) {
    EXPECT_FALSE(parameter.grad().defined());
  }
}

TEST(CopyParameters, MakesNetworksEqualThatStaySeparate) {
  Pair pair({3});
  const torch::Tensor observed = pair.transitions.before;
  ASSERT_FALSE(torch::equal(pair.network->forward(observed), pair.target->forward(observed)));
  CopyParameters(pair.network, pair.target);
  const torch::Tensor values = pair.target->forward(observed);
  EXPECT_TRUE(torch::equal(pair.network->forward(observed), values));
  {
    const torch::NoGradGuard no_gradient;
    for (torch::Tensor& parameter : pair.network->parameters()) parameter.add_(1);
  }
  EXPECT_FALSE(torch::equal(pair.network->forward(observed), values));
  EXPECT_TRUE(torch::equal(pair.target->forward(observed), values));
}

TEST(MakeNetwork, TakesLinesAndPicturesOnly) {
  EXPECT_EQ(MakeNetwork({4}, 2, 8)->forward(torch::zeros({5, 4})).sizes(),
            (std::vector<int64_t>{5, 2}));
  EXPECT_EQ(MakeNetwork({4, 40, 40}, 3, 8)->forward(torch::zeros({5, 4, 40, 40})).sizes(),
            (std::vector<int64_t>{5, 3}));
  EXPECT_THROW(MakeNetwork({4, 40}, 3, 8), std::invalid_argument);
}

}  // namespace
}  // namespace dqn
