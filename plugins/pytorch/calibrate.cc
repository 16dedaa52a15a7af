#include "calibrate.h"

#include <ATen/core/TensorBody.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/is_same_size.h>
#include <crosscut/calibrate.h>

#include <algorithm>
#include <array>

#include "names.h"
#include "operators.h"

namespace crosscut::pytorch {
namespace {

constexpr int kRounds = 21;
constexpr int kOperators = 100;      // per arm of a round
constexpr int kLow = 5, kHigh = 15;  // ranks that bound the median of kRounds at 95 %

uint64_t TicksOfOperators(const at::Tensor& tensor) {
  const uint64_t begin = crosscut_ticks_();
  for (int i = 0; i < kOperators; ++i) at::is_same_size(tensor, tensor);
  return crosscut_ticks_() - begin;
}

// Between the stamps of a guard with nothing in it: what the probe adds to its own span.
double TicksInside(PrivateChunk& chunk) {
  chunk.Record(true);
  for (int i = 0; i < kOperators; ++i) {
    at::RecordFunction guard(at::RecordScope::FUNCTION);
    guard.before("crosscut.calibrate");
  }
  std::array<uint64_t, kOperators> ticks;
  for (int i = 0; i < kOperators; ++i) {
    ticks[i] = (chunk.begin()[2 * i + 1] >> 16) - (chunk.begin()[2 * i] >> 16);
  }
  std::nth_element(ticks.begin(), ticks.begin() + kOperators / 2, ticks.end());
  return static_cast<double>(ticks[kOperators / 2]);
}

}  // namespace

void Calibrate(bool inputs) {
  if (crosscut_this_thread->enabled == 1) return;
  at::RecordFunctionGuard enable(true);
  at::NoGradGuard no_grad;
  const at::Tensor tensor = at::empty({1});
  PrivateChunk chunk;
  if (!chunk.ok()) return;
  SetRecording(true);

  std::array<double, kRounds> added;
  double inside = 0;
  for (double& round : added) {
    const auto without = static_cast<double>(TicksOfOperators(tensor));
    const at::CallbackHandle handle = at::addThreadLocalCallback(Callbacks(inputs));
    chunk.Record(true);
    const auto with = static_cast<double>(TicksOfOperators(tensor));
    inside = TicksInside(chunk);
    at::removeCallback(handle);
    round = (with - without) / kOperators;
  }
  SetRecording(false);

  std::sort(added.begin(), added.end());
  const double ps = 1000 * crosscut_ns_per_tick();
  auto picoseconds = [ps](double ticks) { return static_cast<int64_t>(std::max(0.0, ticks * ps)); };
  const int64_t total = picoseconds(added[kRounds / 2]);
  const int64_t within = std::min(picoseconds(inside), total);
  crosscut_probe_cost(OpProbe(), within, total - within, picoseconds(added[kLow]),
                      picoseconds(added[kHigh]), int64_t{kRounds} * kOperators);
}

}  // namespace crosscut::pytorch
