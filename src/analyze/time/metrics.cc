#include "src/analyze/time/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
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

// Integer and real columns, filled row by row.
class MetricColumns {
 public:
  void Add(const Metrics& row) {
    for (size_t i = 0; i < kMetricColumns; ++i) {
      if (kMetrics[i].integer != nullptr) {
        integers_[i].push_back(kMetrics[i].integer(row));
      } else {
        reals_[i].push_back(kMetrics[i].real(row));
      }
    }
  }
  void MoveTo(Table& table) {
    for (size_t i = 0; i < kMetricColumns; ++i) {
      table.columns.push_back(kMetrics[i].integer != nullptr
                                  ? MakeColumn(kMetrics[i].name, integers_[i])
                                  : MakeColumn(kMetrics[i].name, reals_[i]));
    }
  }

 private:
  std::array<Integers, kMetricColumns> integers_;
  std::array<Reals, kMetricColumns> reals_;
};

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
  Texts process, operation;
  MetricColumns columns;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const auto rows = ByOperation(a.processes[p], corrected);
    Metrics all;
    for (const auto& [o, metrics] : rows) {
      for (size_t c = 0; c < kMetricClasses; ++c) all.ns[c] += metrics.ns[c];
      all.control_ns += metrics.control_ns;
    }
    const auto add = [&](std::string_view text, const Metrics& metrics) {
      process.push_back(context.process_label({p}));
      operation.push_back(text);
      columns.Add(metrics);
    };
    add(kAll, all);
    for (const auto& [o, metrics] : rows) {
      add(trace.text(a.names.operations[o]), metrics);
    }
  }
  Table table = MakeTable(name, MakeColumn("process", process), MakeColumn("operation", operation));
  columns.MoveTo(table);
  return table;
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

std::vector<double> ValuesOf(const MetricColumn& metric, const std::vector<Metrics>& steps,
                             const std::vector<uint32_t>& chosen) {
  std::vector<double> out;
  for (const uint32_t s : chosen) {
    const double value = metric.integer != nullptr ? static_cast<double>(metric.integer(steps[s]))
                                                   : metric.real(steps[s]);
    if (!std::isnan(value)) out.push_back(value);
  }
  return out;
}

}  // namespace

const std::array<MetricColumn, kMetricColumns> kMetrics = {{
    {"total_ns", [](const Metrics& m) { return m.total_ns(); }, nullptr},
    {"python_ns", [](const Metrics& m) { return m.of(MetricClass::kPython); }, nullptr},
    {"cpp_ns", [](const Metrics& m) { return m.cpp_ns(); }, nullptr},
    {"cpp_and_gpu_ns", [](const Metrics& m) { return m.cpp_and_gpu_ns(); }, nullptr},
    {"framework_cpp_ns", [](const Metrics& m) { return m.of(MetricClass::kFrameworkCpp); },
     nullptr},
    {"cuda_cpp_ns", [](const Metrics& m) { return m.of(MetricClass::kCudaCpp); }, nullptr},
    {"gpu_ns", [](const Metrics& m) { return m.of(MetricClass::kGpu); }, nullptr},
    {"gpu_and_cuda_cpp_ns",
     [](const Metrics& m) { return m.of(MetricClass::kGpu) + m.of(MetricClass::kCudaCpp); },
     nullptr},
    {"other_ns", [](const Metrics& m) { return m.of(MetricClass::kOther); }, nullptr},
    {"control_ns", [](const Metrics& m) { return m.control_ns; }, nullptr},
    {"percent_time_in_gpu", nullptr,
     [](const Metrics& m) { return m.Percent(m.of(MetricClass::kGpu)); }},
    {"percent_time_in_cuda_cpp", nullptr,
     [](const Metrics& m) { return m.Percent(m.of(MetricClass::kCudaCpp)); }},
    {"percent_time_in_framework_cpp", nullptr,
     [](const Metrics& m) { return m.Percent(m.of(MetricClass::kFrameworkCpp)); }},
    {"percent_time_in_python", nullptr,
     [](const Metrics& m) { return m.Percent(m.of(MetricClass::kPython)); }},
    {"percent_time_in_other", nullptr,
     [](const Metrics& m) { return m.Percent(m.of(MetricClass::kOther) - m.control_ns); }},
    {"theoretical_speedup", nullptr, [](const Metrics& m) { return m.TheoreticalSpeedup(); }},
    {"python_overhead_percent", nullptr,
     [](const Metrics& m) { return m.PythonOverheadPercent(); }},
}};

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
  Texts process, kind;
  Integers step, level, after;
  MetricColumns columns;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const trace::Process& owner = trace.processes[p];
    const std::vector<Metrics> metrics =
        ByStep(owner, context.Shared<Accounting>().processes[p].overlap);
    for (uint32_t s = 0; s < owner.steps.size(); ++s) {
      process.push_back(context.process_label({p}));
      step.push_back(owner.steps[s].number);
      kind.emplace_back(trace.text(owner.steps[s].kind));
      level.push_back(owner.steps[s].level);
      after.push_back(owner.steps[s].after_switch);
      columns.Add(metrics[s]);
    }
  }
  Table table = MakeTable("step_metrics", MakeColumn("process", process), MakeColumn("step", step),
                          MakeColumn("kind", kind), MakeColumn("level", level),
                          MakeColumn("after_switch", after));
  columns.MoveTo(table);
  return table;
}

Table StepMetricSpreadTable(const trace::Trace& trace, const Context& context) {
  static constexpr const char* kPoints[] = {"min", "p10", "p50", "p90", "max"};
  Texts process, kind, metric;
  Integers steps;
  Reals mean, deviation;
  std::array<Reals, 5> points;
  size_t kinds = 0;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const trace::Process& owner = trace.processes[p];
    const std::vector<Metrics> all =
        ByStep(owner, context.Shared<Accounting>().processes[p].overlap);
    const std::vector<int64_t> walls =
        StepWalls(owner, context.Shared<Accounting>().processes[p].overlap);
    for (const ComparedSteps& of_kind : CompareSteps(owner, walls)) {
      if (of_kind.usual.empty()) continue;
      if (++kinds > kMostKinds) continue;
      for (const MetricColumn& column : kMetrics) {
        const std::vector<double> values = ValuesOf(column, all, of_kind.usual);
        const Spread spread = SpreadOf(values);
        process.push_back(context.process_label({p}));
        kind.emplace_back(trace.text(of_kind.kind));
        metric.emplace_back(column.name);
        steps.push_back(static_cast<int64_t>(values.size()));
        mean.push_back(spread.mean);
        deviation.push_back(spread.deviation);
        for (size_t i = 0; i < 5; ++i) points[i].push_back(spread.points[i]);
      }
    }
  }
  Table table =
      MakeTable("step_metric_spread", MakeColumn("process", process), MakeColumn("kind", kind),
                MakeColumn("metric", metric), MakeColumn("steps", steps), MakeColumn("mean", mean),
                MakeColumn("std", deviation));
  for (size_t i = 0; i < 5; ++i) table.columns.push_back(MakeColumn(kPoints[i], points[i]));
  if (kinds > kMostKinds) {
    table.notes.push_back("the first " + std::to_string(kMostKinds) + " of " +
                          std::to_string(kinds) + " kinds of steps, by process");
  }
  return table;
}

}  // namespace crosscut::analyze
