#include <algorithm>
#include <map>

#include "src/analyze/columns.h"
#include "src/analyze/devices/device_work.h"
#include "src/analyze/devices/tables.h"
#include "src/trace/spans_around.h"

namespace crosscut::analyze {
namespace {

constexpr size_t kLeastKernels = 3, kMostRows = 100;

struct Launched {
  int64_t at_ns, device_ns;
  uint32_t text;  // of the name
};
// An operator: its track and span.
using Operator = std::pair<uint32_t, trace::SpanIndex>;

std::map<Operator, std::vector<Launched>> LaunchesByOperator(const trace::Trace& trace,
                                                             const Context& context) {
  const auto of_framework = [&](trace::TrackId track, trace::SpanIndex span) {
    const trace::NameId name = trace.tracks[track.value].spans.name[span];
    return trace.name(name).layer == trace::Layer::kFramework;
  };
  trace::SpansAround outermost(trace, of_framework, trace::SpansAround::Which::kOutermost);
  std::map<Operator, std::vector<Launched>> operators;
  for (const ProcessWork& work : context.Shared<DeviceWork>().processes) {
    for (const DeviceEvent& event : work.events) {
      if (!event.work() || !event.launched()) continue;
      const trace::Spans& host = trace.tracks[event.launch_track.value].spans;
      const trace::SpanIndex op = outermost.Of(event.launch_track, event.launch);
      if (op == trace::kNoSpan) continue;
      const trace::NameId name = trace.tracks[event.track.value].spans.name[event.span];
      operators[{event.launch_track.value, op}].push_back({host.begin_ns[event.launch],
                                                           event.end_ns - event.begin_ns,
                                                           trace.name(name).text.value});
    }
  }
  return operators;
}

}  // namespace

Table SequencesTable(const trace::Trace& trace, const Context& context) {
  struct Sums {
    int64_t count = 0, host = 0, device = 0;
  };
  std::map<std::vector<uint32_t>, Sums> sequences;  // the operator's name, then the kernels'
  for (auto& [op, launched] : LaunchesByOperator(trace, context)) {
    if (launched.size() < kLeastKernels) continue;
    std::stable_sort(launched.begin(), launched.end(),
                     [](const Launched& a, const Launched& b) { return a.at_ns < b.at_ns; });
    const trace::Spans& spans = trace.tracks[op.first].spans;
    std::vector<uint32_t> key = {trace.name(spans.name[op.second]).text.value};
    int64_t device = 0;
    for (const Launched& one : launched) {
      key.push_back(one.text);
      device += one.device_ns;
    }
    Sums& sums = sequences[key];
    ++sums.count;
    sums.host += spans.end_ns[op.second] - spans.begin_ns[op.second];
    sums.device += device;
  }
  std::vector<std::pair<const std::vector<uint32_t>*, Sums>> order;
  for (const auto& [key, sums] : sequences) order.emplace_back(&key, sums);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.device > b.second.device; });
  if (order.size() > kMostRows) order.resize(kMostRows);
  TableRows table("sequences", Text("operator"), Text("kernels"), Integer("length"),
                  Integer("count"), Integer("host_ns"), Integer("device_ns"));
  for (const auto& [key, sums] : order) {
    std::string text;
    for (size_t i = 1; i < key->size(); ++i) {
      if (i > 1) text += " > ";
      text += trace.text(trace::StringId{(*key)[i]});
    }
    table.Add(trace.text(trace::StringId{key->front()}), text,
              static_cast<int64_t>(key->size()) - 1, sums.count, sums.host, sums.device);
  }
  return table.Make();
}

}  // namespace crosscut::analyze
