// The metrics of IML (later RL-Scope), from the cells of the accounting. Each instant is of the
// first class that matches, so the classes sum to the total exactly. docs/rl-metrics.md has the
// definitions beside IML's own words.
#pragma once

#include <array>
#include <cstdint>

#include "src/analyze/context.h"
#include "src/analyze/layer_set.h"
#include "src/analyze/table.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

enum class MetricClass : uint8_t { kGpu, kCudaCpp, kFrameworkCpp, kPython, kOther };
inline constexpr int kMetricClasses = 5;

// In this order: kGpu: a device is busy; kCudaCpp: runtime; kFrameworkCpp: framework, native,
// simulator, comm or data; kPython: python; kOther: everything else, also control steps.
MetricClass ClassOf(LayerSet layers);

// Nanoseconds by class, and what IML derives from them.
struct Metrics {
  std::array<int64_t, kMetricClasses> ns{};
  int64_t control_ns = 0;  // the part of kOther in control steps, of which nothing is known

  void Add(LayerSet layers, int64_t length_ns);
  int64_t of(MetricClass c) const { return ns[static_cast<size_t>(c)]; }
  int64_t total_ns() const;
  int64_t cpp_ns() const { return of(MetricClass::kCudaCpp) + of(MetricClass::kFrameworkCpp); }
  int64_t cpp_and_gpu_ns() const { return cpp_ns() + of(MetricClass::kGpu); }
  // 100 * part / time outside control steps; NaN where there is no such time.
  double Percent(int64_t part_ns) const;
  // (python + cpp_and_gpu) / cpp_and_gpu: how much faster without its Python. NaN where cpp_and_gpu
  // is 0.
  double TheoreticalSpeedup() const;
  double PythonOverheadPercent() const;  // 100 * python / cpp_and_gpu; NaN likewise
};

// process, operation ("(all)" first, then each operation, the longest first), and the metrics'
// columns: of what was recorded.
Table MetricsTable(const trace::Trace& trace, const Context& context);
// The same of what a run without Crosscut would have had.
Table CorrectedMetricsTable(const trace::Trace& trace, const Context& context);

// A row for each step: process, step, kind, level, after_switch, the metrics' columns.
Table StepMetricsTable(const trace::Trace& trace, const Context& context);

// How the steps of a kind spread: process, kind, metric, steps, mean, std, min, p10, p50, p90, max,
// in the metric's unit. Covers the compared steps at the level that most of them have
// (ComparedSteps::usual), of the first 256 kinds. `steps` counts those whose value is known. `std`
// is that of the sample, NaN for one step; percentiles are values that occurred.
Table StepMetricSpreadTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
