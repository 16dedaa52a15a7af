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
constexpr int kEvents = 100;         // per arm of a round
constexpr int kLow = 5, kHigh = 15;  // ranks that bound the median of kRounds at 95 %

void RunGuard(at::RecordScope scope) {
  at::RecordFunction guard(scope);
  if (guard.isActive()) guard.before("crosscut.calibrate");
}

template <class Work>
uint64_t TicksOf(const Work& work) {
  const uint64_t begin = crosscut_ticks_();
  for (int i = 0; i < kEvents; ++i) work();
  return crosscut_ticks_() - begin;
}

// One kind of probe: what its guards and the words of an event with nothing in it are.
struct Probe {
  uint32_t id;
  at::RecordScope scope;
  at::RecordFunctionCallback callbacks;
  int words;  // of an event; the second ends its span
};

// Between the stamps of a guard with nothing in it: what the probe adds to its own span.
double TicksInside(PrivateChunk& chunk, const Probe& probe) {
  chunk.Record(true);
  for (int i = 0; i < kEvents; ++i) RunGuard(probe.scope);
  std::array<uint64_t, kEvents> ticks;
  for (int i = 0; i < kEvents; ++i) {
    const uint64_t* event = chunk.begin() + probe.words * i;
    ticks[i] = (event[1] >> 16) - (event[0] >> 16);
  }
  std::nth_element(ticks.begin(), ticks.begin() + kEvents / 2, ticks.end());
  return static_cast<double>(ticks[kEvents / 2]);
}

template <class Work>
void Measure(PrivateChunk& chunk, const Probe& probe, const Work& work) {
  std::array<double, kRounds> added;
  double inside = 0;
  for (double& round : added) {
    const auto without = static_cast<double>(TicksOf(work));
    const at::CallbackHandle handle = at::addThreadLocalCallback(probe.callbacks);
    chunk.Record(true);
    const auto with = static_cast<double>(TicksOf(work));
    inside = TicksInside(chunk, probe);
    at::removeCallback(handle);
    round = (with - without) / kEvents;
  }
  std::sort(added.begin(), added.end());
  const double ps = 1000 * crosscut_ns_per_tick();
  auto picoseconds = [ps](double ticks) { return static_cast<int64_t>(std::max(0.0, ticks * ps)); };
  const int64_t total = picoseconds(added[kRounds / 2]);
  const int64_t within = std::min(picoseconds(inside), total);
  crosscut_probe_cost(probe.id, within, total - within, picoseconds(added[kLow]),
                      picoseconds(added[kHigh]), int64_t{kRounds} * kEvents);
}

}  // namespace

void Calibrate(Inputs inputs) {
  if (crosscut_this_thread->enabled == 1) return;
  at::RecordFunctionGuard enable(true);
  at::NoGradGuard no_grad;
  const at::Tensor tensor = at::empty({1});
  PrivateChunk chunk;
  if (!chunk.ok()) return;
  SetRecording(true);
  SetRecordingScopes(true);
  const auto op = at::RecordScope::FUNCTION, scope = at::RecordScope::USER_SCOPE;
  Measure(chunk, {OpProbe(), op, Callbacks(inputs), 2},
          [&tensor] { at::is_same_size(tensor, tensor); });
  Measure(chunk, {ScopeProbe(), scope, ScopeCallbacks(), 3},
          [] { RunGuard(at::RecordScope::USER_SCOPE); });
  SetRecording(false);
  SetRecordingScopes(false);
}

}  // namespace crosscut::pytorch
