#include "src/runtime/calibrate.h"

#include <atomic>

#include "src/collect/clock.h"
#include "src/collect/recorder.h"
#include "src/collect/scratch.h"

namespace crosscut::record {
namespace {

constexpr int kRounds = 40;
constexpr int kPairs = 200;
constexpr uint32_t kAnyName = format::kFirstNameCode;

uint32_t Probe(const char* text) {
  const format::NameAttributes attributes{format::kKindText, format::kLayerNone, 0, 0};
  return Recorder::Get().stream().Intern(text, attributes.Pack());
}

struct Samples {
  double values[kRounds];
  int count = 0;
  void Add(double value) { values[count++] = value; }
  void Sort() {
    for (int i = 1; i < count; ++i) {
      const double value = values[i];
      int at = i;
      for (; at > 0 && values[at - 1] > value; --at) values[at] = values[at - 1];
      values[at] = value;
    }
  }
  double At(double quantile) const { return values[static_cast<int>(quantile * (count - 1))]; }
};

// A pair's inside part lies between the two clock readings, the rest outside. The interval is that
// of the rounds' middle half: rounds that were interrupted lie far above it.
void Report(uint32_t probe, Samples* total, Samples* inside, double ps_per_tick) {
  total->Sort();
  inside->Sort();
  const double middle = total->At(0.5) * ps_per_tick;
  const double in = inside->At(0.5) * ps_per_tick;
  crosscut_probe_cost(probe, static_cast<int64_t>(in),
                      static_cast<int64_t>(middle > in ? middle - in : 0),
                      static_cast<int64_t>(total->At(0.1) * ps_per_tick),
                      static_cast<int64_t>(total->At(0.75) * ps_per_tick), kRounds * kPairs);
}

__attribute__((noinline)) void SpanPairs(int pairs) {
  for (int i = 0; i < pairs; ++i) {
    crosscut_begin_inline(kAnyName);
    crosscut_end_inline();
  }
}

__attribute__((noinline)) void OperationPairs(int pairs) {
  for (int i = 0; i < pairs; ++i) {
    crosscut_begin(kAnyName);
    crosscut_end_named(kAnyName);
  }
}

// A step's edge writes two events by the slow path; its span is the step itself, so all of the
// cost lies inside the steps.
__attribute__((noinline)) void StepEdges(int pairs) {
  const uint64_t payload[2] = {0, 0};
  for (int i = 0; i < pairs; ++i) {
    (void)Recorder::Get().MarkAlways(0, kAnyName, nullptr, 0);
    (void)Recorder::Get().MarkAlways(0, format::kStepLevel, payload, 2);
  }
}

void Measure(const char* name, void (*body)(int), ThreadState* scratch, double ps_per_tick) {
  Samples total, inside;
  for (int round = 0; round < kRounds; ++round) {
    ResetScratch(scratch);
    const uint64_t begin = ClockNow();
    body(kPairs);
    total.Add(static_cast<double>(ClockNow() - begin) / kPairs);
    uint64_t widths = 0;
    const uint64_t* words = scratch->chunk + format::kRingChunkHeaderWords;
    const auto end = static_cast<size_t>(scratch->position - words);
    uint64_t open = 0;
    for (size_t at = 0; at < end;) {
      const size_t n = format::EventLength({words, end}, at);
      if (n == 0) break;
      const uint64_t tick = words[at] >> format::kCodeBits;
      if ((words[at] & format::kCodeMask) >= format::kFirstNameCode) {
        open = tick;
      } else {
        widths += tick - open;
      }
      at += n;
    }
    inside.Add(static_cast<double>(widths) / kPairs);
  }
  Report(Probe(name), &total, &inside, ps_per_tick);
}

}  // namespace

void CalibrateProbes() {
  static std::atomic<bool> done{false};  // the first to exchange it does the work
  if (!ClockIsInline() || done.exchange(true)) return;
  ThreadState* scratch = EnterScratch();
  if (scratch == nullptr) return;
  const double ps_per_tick = ClockNsPerTick() * 1000;
  Measure("span", &SpanPairs, scratch, ps_per_tick);
  Measure("drain", &SpanPairs, scratch, ps_per_tick);
  Measure("operation", &OperationPairs, scratch, ps_per_tick);
  Measure("step", &StepEdges, scratch, ps_per_tick);
  LeaveScratch(scratch);
}

}  // namespace crosscut::record
