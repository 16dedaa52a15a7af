// The Q-network and its loss, on LibTorch.
#ifndef DQN_NETWORK_H_
#define DQN_NETWORK_H_

#include <torch/nn/modules/container/sequential.h>

#include <cstdint>
#include <vector>

namespace dqn {

// From a batch of observations of `shape` to one value per action. One dimension: two hidden
// layers. Three (planes, rows, columns; pixels from 0 to 1): two convolutions and a hidden
// layer. Weights are drawn from torch's generator, in the order of PyTorch's own modules.
torch::nn::Sequential MakeNetwork(const std::vector<int64_t>& shape, int64_t actions,
                                  int64_t hidden);

// Makes every parameter of `to` that of `from`: the same architecture.
void CopyParameters(torch::nn::Sequential from, torch::nn::Sequential to);

// Transitions as tensors, the batch first.
struct Transitions {
  torch::Tensor before, after;  // observations, of the network's type
  torch::Tensor action;         // int64
  torch::Tensor reward, follows;
};

// The mean Huber loss (of 1) of the values of the actions that were taken against what they gave:
// reward + discount * follows * the best value of `after` in the target network, which gets no
// gradient. Mnih et al. 2015, "Human-level control through deep reinforcement learning".
torch::Tensor Loss(torch::nn::Sequential network, torch::nn::Sequential target,
                   const Transitions& of, double discount);

}  // namespace dqn

#endif  // DQN_NETWORK_H_
