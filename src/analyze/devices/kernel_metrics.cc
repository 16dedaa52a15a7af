#include "src/analyze/devices/kernel_metrics.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "src/analyze/columns.h"

namespace crosscut::analyze {
namespace {

constexpr std::string_view kPasses = "metric_passes", kUnit = " unit";
constexpr std::string_view kWindow = "(all of a window)";

// "unit__quantity", and mostly ".rollup": no other argument has such a name.
bool IsMetric(std::string_view key) {
  return key.find("__") != std::string_view::npos && !key.ends_with(kUnit);
}

// Calls `of_kernel` and `of_instant` with the track and the index of all that has metrics.
template <class OfKernel, class OfInstant>
void ForEachMeasured(const trace::Trace& trace, OfKernel of_kernel, OfInstant of_instant) {
  const trace::StringId passes = trace.strings.Find(kPasses);
  if (!passes.valid()) return;
  for (const trace::Track& track : trace.tracks) {
    const bool device = track.kind == trace::TrackKind::kDevice;
    for (uint32_t i = 0; device && i < track.spans.size(); ++i) {
      const trace::Arg arg = track.args.Find(i, passes);
      if (arg.key.valid()) of_kernel(track, i, arg.is_text ? 1 : arg.value);
    }
    // In files a track without spans is no device's.
    for (uint32_t i = 0; i < track.instants.at_ns.size(); ++i) {
      if (track.instant_args.Find(i, passes).key.valid()) of_instant(track, i);
    }
  }
}

struct Values {
  int64_t count = 0;
  double sum = 0, min = 0, max = 0;
  void Add(double value) {
    min = count == 0 ? value : std::min(min, value);
    max = count == 0 ? value : std::max(max, value);
    sum += value;
    ++count;
  }
};

}  // namespace

std::vector<Measured> MeasuredIn(const trace::Trace& trace) {
  std::vector<Measured> measured(trace.processes.size());
  ForEachMeasured(
      trace,
      [&](const trace::Track& track, uint32_t, int64_t passes) {
        Measured& of = measured[track.process.value];
        ++of.kernels;
        of.passes = std::max(of.passes, passes);
      },
      [&](const trace::Track& track, uint32_t) { ++measured[track.process.value].windows; });
  return measured;
}

Table KernelMetricsTable(const trace::Trace& trace, const Context&) {
  std::map<std::pair<std::string_view, std::string_view>, Values> rows;  // kernel, metric
  std::map<std::string_view, std::string_view> units;
  const auto take = [&](std::string_view kernel, const trace::Args::Range& args) {
    for (const trace::Arg& arg : args) {
      const std::string_view key = trace.text(arg.key);
      if (arg.is_text && !arg.is_json && key.ends_with(kUnit)) {
        units[key.substr(0, key.size() - kUnit.size())] = trace.text(arg.text());
      }
      if (!IsMetric(key)) continue;
      double value = static_cast<double>(arg.value);
      if (arg.is_text && !trace.RealOf(arg, &value)) continue;
      rows[{kernel, key}].Add(value);
    }
  };
  ForEachMeasured(
      trace,
      [&](const trace::Track& track, uint32_t i, int64_t) {
        take(trace.name_text(track.spans.name[i]), track.args.of(i));
      },
      [&](const trace::Track& track, uint32_t i) { take(kWindow, track.instant_args.of(i)); });
  TableRows table("kernel_metrics", Text("kernel"), Text("metric"), Text("unit"), Integer("count"),
                  Real("mean"), Real("min"), Real("max"));
  for (const auto& [key, values] : rows) {
    table.Add(key.first, key.second, units[key.second], values.count,
              values.sum / static_cast<double>(values.count), values.min, values.max);
  }
  return table.Make();
}

}  // namespace crosscut::analyze
