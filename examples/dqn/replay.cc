#include "replay.h"

#include <algorithm>
#include <stdexcept>

namespace dqn {
namespace {

// Writes `value` as row `row`, which may be the first behind the last.
template <typename T>
void Put(std::span<const T> value, size_t row, std::vector<T>* column) {
  const auto at = column->begin() + row * value.size();
  if (at == column->end()) {
    column->insert(at, value.begin(), value.end());
  } else {
    std::copy(value.begin(), value.end(), at);
  }
}

}  // namespace

Replay::Replay(size_t capacity, size_t observation_bytes)
    : capacity_(capacity), bytes_(observation_bytes) {
  kept_.before.reserve(capacity * bytes_);
  kept_.after.reserve(capacity * bytes_);
  kept_.action.reserve(capacity);
  kept_.reward.reserve(capacity);
  kept_.follows.reserve(capacity);
}

void Replay::Add(std::span<const std::byte> before, int action, const Outcome& outcome,
                 std::span<const std::byte> after) {
  if (before.size() != bytes_ || after.size() != bytes_) {
    throw std::invalid_argument("an observation of another size than the replay's");
  }
  const int64_t taken = action;
  const float follows = outcome.terminated ? 0.0f : 1.0f;
  Put(before, next_, &kept_.before);
  Put(after, next_, &kept_.after);
  Put(std::span(&taken, 1), next_, &kept_.action);
  Put(std::span(&outcome.reward, 1), next_, &kept_.reward);
  Put(std::span(&follows, 1), next_, &kept_.follows);
  next_ = (next_ + 1) % capacity_;
}

void Replay::Sample(size_t count, Random* random, Batch* batch) const {
  batch->before.resize(count * bytes_);
  batch->after.resize(count * bytes_);
  batch->action.resize(count);
  batch->reward.resize(count);
  batch->follows.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const size_t row = random->Below(static_cast<int>(size()));
    std::copy_n(kept_.before.begin() + row * bytes_, bytes_, batch->before.begin() + i * bytes_);
    std::copy_n(kept_.after.begin() + row * bytes_, bytes_, batch->after.begin() + i * bytes_);
    batch->action[i] = kept_.action[row];
    batch->reward[i] = kept_.reward[row];
    batch->follows[i] = kept_.follows[row];
  }
}

}  // namespace dqn
