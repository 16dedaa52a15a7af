#include "src/analyze/time/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"
#include "src/analyze/quantiles.h"
#include "src/analyze/steps/step_summary.h"

namespace crosscut::analyze {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kAll = "(all)";
constexpr size_t kMostKinds = 256;  // of steps whose spread is shown

double Quotient(int64_t part, int64_t whole) {
  return whole == 0 ? kUnknown : static_cast<double>(part) / static_cast<double>(whole);
}

template <class Value>
struct Metric {
  const char* name;
  Value (*of)(const Metrics&);
};

constexpr Metric<int64_t> kTimes[] = {
    {"total_ns", [](const Metrics& m) { return m.total_ns(); }},
    {"python_ns", [](const Metrics& m) { return m.of(MetricClass::kPython); }},
    {"cpp_ns", [](const Metrics& m) { return m.cpp_ns(); }},
    {"cpp_and_gpu_ns", [](const Metrics& m) { return m.cpp_and_gpu_ns(); }},
    {"framework_cpp_ns", [](const Metrics& m) { return m.of(MetricClass::kFrameworkCpp); }},
    {"cuda_cpp_ns", [](const Metrics& m) { return m.of(MetricClass::kCudaCpp); }},
    {"gpu_ns", [](const Metrics& m) { return m.of(MetricClass::kGpu); }},
    {"gpu_and_cuda_cpp_ns",
     [](const Metrics& m) { return m.of(MetricClass::kGpu) + m.of(MetricClass::kCudaCpp); }},
    {"other_ns", [](const Metrics& m) { return m.of(MetricClass::kOther); }},
    {"control_ns", [](const Metrics& m) { return m.control_ns; }},
};
constexpr Metric<double> kRatios[] = {
    {"percent_time_in_gpu", [](const Metrics& m) { return m.Percent(m.of(MetricClass::kGpu)); }},
    {"percent_time_in_cuda_cpp",
     [](const Metrics& m) { return m.Percent(m.of(MetricClass::kCudaCpp)); }},
    {"percent_time_in_framework_cpp",
     [](const Metrics& m) { return m.Percent(m.of(MetricClass::kFrameworkCpp)); }},
    {"percent_time_in_python",
     [](const Metrics& m) { return m.Percent(m.of(MetricClass::kPython)); }},
    {"percent_time_in_other",
     [](const Metrics& m) { return m.Percent(m.of(MetricClass::kOther) - m.control_ns); }},
    {"theoretical_speedup", [](const Metrics& m) { return m.TheoreticalSpeedup(); }},
    {"python_overhead_percent", [](const Metrics& m) { return m.PythonOverheadPercent(); }},
};

template <class Column, class Value>
Several<Column> ColumnsOf(std::span<const Metric<Value>> metrics) {
  std::vector<const char*> names;
  for (const Metric<Value>& metric : metrics) names.push_back(metric.name);
  return Several<Column>(names);
}

template <class Value>
std::vector<Value> CellsOf(std::span<const Metric<Value>> metrics, const Metrics& row) {
  std::vector<Value> cells;
  for (const Metric<Value>& metric : metrics) cells.push_back(metric.of(row));
  return cells;
}

// The longest first.
std::vector<std::pair<uint32_t, Metrics>> ByOperation(const ProcessAccount& account,
                                                      bool corrected) {
  std::map<uint32_t, Metrics> sums;
  const std::vector<Cell>& cells = account.overlap.cells;
  for (size_t i = 0; i < cells.size(); ++i) {
    const int64_t ns = corrected ? account.correction.corrected_ns[i] : cells[i].ns;
    sums[cells[i].operation].Add(cells[i].layers, ns);
  }
  std::vector<std::pair<uint32_t, Metrics>> out(sums.begin(), sums.end());
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.second.total_ns() > b.second.total_ns();
  });
  return out;
}

Table MakeMetrics(const char* name, const Context& context, bool corrected) {
  const trace::Trace& trace = context.trace();
  const Accounting& a = context.Shared<Accounting>();
  TableRows table(name, Text("process"), Text("operation"), ColumnsOf<Integer, int64_t>(kTimes),
                  ColumnsOf<Real, double>(kRatios));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const auto rows = ByOperation(a.processes[p], corrected);
    Metrics all;
    for (const auto& [o, metrics] : rows) {
      for (size_t c = 0; c < kMetricClasses; ++c) all.ns[c] += metrics.ns[c];
      all.control_ns += metrics.control_ns;
    }
    const auto add = [&](std::string_view text, const Metrics& metrics) {
      table.Add(context.process_label({p}), text, CellsOf<int64_t>(kTimes, metrics),
                CellsOf<double>(kRatios, metrics));
    };
    add(kAll, all);
    for (const auto& [o, metrics] : rows) {
      add(trace.text(a.names.operations[o]), metrics);
    }
  }
  return table.Make();
}

std::vector<Metrics> ByStep(const trace::Process& process, const ProcessOverlap& overlap) {
  std::vector<Metrics> out(process.steps.size());
  for (const StepCell& cell : overlap.steps) out[cell.step].Add(cell.layers, cell.ns);
  return out;
}

struct Spread {
  double mean = kUnknown, deviation = kUnknown;
  std::array<double, 5> points{kUnknown, kUnknown, kUnknown, kUnknown, kUnknown};
};

// Of values that are known.
Spread SpreadOf(std::vector<double> values) {
  Spread out;
  if (values.empty()) return out;
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  out.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double v : values) squares += (v - out.mean) * (v - out.mean);
  if (values.size() > 1) out.deviation = std::sqrt(squares / (n - 1));
  static constexpr size_t kPercents[] = {0, 10, 50, 90, 100};
  for (size_t i = 0; i < 5; ++i) out.points[i] = values[RankOf(values.size(), kPercents[i])];
  return out;
}

template <class Value>
std::vector<double> ValuesOf(const Metric<Value>& metric, const std::vector<Metrics>& steps,
                             const std::vector<uint32_t>& chosen) {
  std::vector<double> out;
  for (const uint32_t s : chosen) {
    const auto value = static_cast<double>(metric.of(steps[s]));
    if (!std::isnan(value)) out.push_back(value);
  }
  return out;
}

}  // namespace

MetricClass ClassOf(LayerSet layers) {
  using trace::Layer;
  constexpr LayerSet kNative = Bit(Layer::kFramework) | Bit(Layer::kNative) |
                               Bit(Layer::kSimulator) | Bit(Layer::kComm) | Bit(Layer::kData);
  if (DeviceBusy(layers)) return MetricClass::kGpu;
  if (layers & Bit(Layer::kRuntime)) return MetricClass::kCudaCpp;
  if (layers & kNative) return MetricClass::kFrameworkCpp;
  return (layers & Bit(Layer::kPython)) ? MetricClass::kPython : MetricClass::kOther;
}

void Metrics::Add(LayerSet layers, int64_t length_ns) {
  ns[static_cast<size_t>(ClassOf(layers))] += length_ns;
  if (layers & kControlBit) control_ns += length_ns;
}

int64_t Metrics::total_ns() const { return std::accumulate(ns.begin(), ns.end(), int64_t{0}); }

double Metrics::Percent(int64_t part_ns) const {
  return 100 * Quotient(part_ns, total_ns() - control_ns);
}

double Metrics::TheoreticalSpeedup() const {
  return Quotient(of(MetricClass::kPython) + cpp_and_gpu_ns(), cpp_and_gpu_ns());
}

double Metrics::PythonOverheadPercent() const {
  return 100 * Quotient(of(MetricClass::kPython), cpp_and_gpu_ns());
}

Table MetricsTable(const trace::Trace&, const Context& context) {
  return MakeMetrics("metrics", context, false);
}

Table CorrectedMetricsTable(const trace::Trace&, const Context& context) {
  return MakeMetrics("corrected_metrics", context, true);
}

Table StepMetricsTable(const trace::Trace& trace, const Context& context) {
  TableRows table("step_metrics", Text("process"), Integer("step"), Text("kind"), Integer("level"),
                  Integer("after_switch"), ColumnsOf<Integer, int64_t>(kTimes),
                  ColumnsOf<Real, double>(kRatios));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const trace::Process& owner = trace.processes[p];
    const std::vector<Metrics> metrics =
        ByStep(owner, context.Shared<Accounting>().processes[p].overlap);
    for (uint32_t s = 0; s < owner.steps.size(); ++s) {
      const trace::Step& step = owner.steps[s];
      table.Add(context.process_label({p}), step.number, trace.text(step.kind), step.level,
                step.after_switch, CellsOf<int64_t>(kTimes, metrics[s]),
                CellsOf<double>(kRatios, metrics[s]));
    }
  }
  return table.Make();
}

Table StepMetricSpreadTable(const trace::Trace& trace, const Context& context) {
  static constexpr const char* kPoints[] = {"min", "p10", "p50", "p90", "max"};
  TableRows table("step_metric_spread", Text("process"), Text("kind"), Text("metric"),
                  Integer("steps"), Real("mean"), Real("std"), Several<Real>(kPoints));
  size_t kinds = 0;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const trace::Process& owner = trace.processes[p];
    const ProcessOverlap& overlap = context.Shared<Accounting>().processes[p].overlap;
    const std::vector<Metrics> all = ByStep(owner, overlap);
    for (const ComparedSteps& of_kind : CompareSteps(owner, StepWalls(owner, overlap))) {
      if (of_kind.usual.empty()) continue;
      if (++kinds > kMostKinds) continue;
      const auto add = [&](const auto& metric) {
        const std::vector<double> values = ValuesOf(metric, all, of_kind.usual);
        const Spread spread = SpreadOf(values);
        table.Add(context.process_label({p}), trace.text(of_kind.kind), metric.name, values.size(),
                  spread.mean, spread.deviation, spread.points);
      };
      for (const auto& metric : kTimes) add(metric);
      for (const auto& metric : kRatios) add(metric);
    }
  }
  if (kinds > kMostKinds) {
    table.Note("the first " + std::to_string(kMostKinds) + " of " + std::to_string(kinds) +
               " kinds of steps, by process");
  }
  return table.Make();
}

}  // namespace crosscut::analyze
