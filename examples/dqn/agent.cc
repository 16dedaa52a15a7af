#include "agent.h"

#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adam.h>
#include <torch/serialize.h>
#include <torch/utils.h>

#include "crosscut/crosscut.h"
#include "network.h"

namespace dqn {
namespace {

torch::Tensor Rows(std::span<const std::byte> bytes, const std::vector<int64_t>& shape) {
  std::vector<int64_t> sizes = {-1};
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  const bool pixels = shape.size() > 1;
  const auto type = pixels ? torch::kUInt8 : torch::kFloat32;
  sizes[0] = static_cast<int64_t>(bytes.size() / (pixels ? 1 : sizeof(float)));
  for (const int64_t size : shape) sizes[0] /= size;
  const torch::Tensor as_they_are =
      torch::from_blob(const_cast<std::byte*>(bytes.data()), sizes, type);
  return pixels ? as_they_are.to(torch::kFloat32).div_(255) : as_they_are;
}

template <typename T>
torch::Tensor Column(const std::vector<T>& values, torch::ScalarType type) {
  return torch::from_blob(const_cast<T*>(values.data()), {static_cast<int64_t>(values.size())},
                          type);
}

}  // namespace

struct Agent::Networks {
  std::vector<int64_t> shape;
  double discount, gradient_norm;
  torch::nn::Sequential network, target, best;
  torch::optim::Adam optimizer;
};

Agent::Agent(const std::vector<int64_t>& shape, int actions, const Settings& settings) {
  torch::set_num_threads(1);
  torch::manual_seed(settings.seed);
  const auto make = [&] { return MakeNetwork(shape, actions, settings.hidden); };
  torch::nn::Sequential network = make();
  torch::optim::Adam optimizer(network->parameters(),
                               torch::optim::AdamOptions(settings.learning_rate));
  it_.reset(new Networks{shape, settings.discount, settings.gradient_norm, network, make(), make(),
                         std::move(optimizer)});
  UpdateTarget();
  Keep();
}

Agent::~Agent() = default;

int Agent::Act(std::span<const std::byte> observation) {
  static const crosscut::Name kForward("forward", CROSSCUT_FRAMEWORK);
  const crosscut::Span span(kForward);
  const torch::InferenceMode no_gradient;
  return it_->network->forward(Rows(observation, it_->shape)).argmax(1).item<int>();
}

float Agent::Learn(const Batch& batch) {
  static const crosscut::Name kLoss("loss", CROSSCUT_FRAMEWORK);
  static const crosscut::Name kBackward("backward", CROSSCUT_FRAMEWORK);
  static const crosscut::Name kAdam("Adam", CROSSCUT_FRAMEWORK);
  torch::Tensor loss;
  {
    const crosscut::Span span(kLoss);
    loss = Loss(it_->network, it_->target,
                {Rows(batch.before, it_->shape), Rows(batch.after, it_->shape),
                 Column(batch.action, torch::kInt64), Column(batch.reward, torch::kFloat32),
                 Column(batch.follows, torch::kFloat32)},
                it_->discount);
  }
  {
    const crosscut::Span span(kBackward);
    it_->optimizer.zero_grad();
    loss.backward();
  }
  const crosscut::Span span(kAdam);
  torch::nn::utils::clip_grad_norm_(it_->network->parameters(), it_->gradient_norm);
  it_->optimizer.step();
  return loss.item<float>();
}

void Agent::UpdateTarget() {
  static const crosscut::Name kCopy("copy", CROSSCUT_FRAMEWORK);
  const crosscut::Span span(kCopy);
  CopyParameters(it_->network, it_->target);
}

void Agent::Save(const std::string& path) const { torch::save(it_->network, path); }
void Agent::Load(const std::string& path) { torch::load(it_->network, path); }
void Agent::Keep() { CopyParameters(it_->network, it_->best); }
void Agent::Restore() { CopyParameters(it_->best, it_->network); }

}  // namespace dqn
