#include "network.h"

#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

#include <stdexcept>

namespace dqn {

namespace nn = torch::nn;

nn::Sequential MakeNetwork(const std::vector<int64_t>& shape, int64_t actions, int64_t hidden) {
  if (shape.size() != 1 && shape.size() != 3) {
    throw std::invalid_argument("observations of 1 or 3 dimensions only");
  }
  // One after the other: the order in which arguments are made, and draw weights, is nobody's.
  nn::Sequential network;
  if (shape.size() == 1) {
    network->push_back(nn::Linear(shape[0], hidden));
    network->push_back(nn::ReLU());
    network->push_back(nn::Linear(hidden, hidden));
  } else {
    // Each halves the picture: windows of 4 at every second place.
    const auto halved = [](int64_t size) { return (size - 4) / 2 + 1; };
    const int64_t places = halved(halved(shape[1])) * halved(halved(shape[2]));
    network->push_back(nn::Conv2d(nn::Conv2dOptions(shape[0], 16, 4).stride(2)));
    network->push_back(nn::ReLU());
    network->push_back(nn::Conv2d(nn::Conv2dOptions(16, 32, 4).stride(2)));
    network->push_back(nn::ReLU());
    network->push_back(nn::Flatten());
    network->push_back(nn::Linear(32 * places, hidden));
  }
  network->push_back(nn::ReLU());
  network->push_back(nn::Linear(hidden, actions));
  return network;
}

void CopyParameters(nn::Sequential from, nn::Sequential to) {
  const torch::NoGradGuard no_gradient;
  const std::vector<torch::Tensor> source = from->parameters(), copy = to->parameters();
  for (size_t i = 0; i < source.size(); ++i) copy[i].copy_(source[i]);
}

torch::Tensor Loss(nn::Sequential network, nn::Sequential target, const Transitions& of,
                   double discount) {
  torch::Tensor expected;
  {
    const torch::NoGradGuard no_gradient;
    const torch::Tensor best = std::get<0>(target->forward(of.after).max(1));
    expected = of.reward + discount * of.follows * best;
  }
  const torch::Tensor values = network->forward(of.before);
  const torch::Tensor taken = values.gather(1, of.action.unsqueeze(1)).squeeze(1);
  return torch::nn::functional::smooth_l1_loss(taken, expected);
}

}  // namespace dqn
