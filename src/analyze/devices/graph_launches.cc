#include "src/analyze/devices/graph_launches.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "src/analyze/devices/device_work.h"
#include "src/trace/spans_around.h"

namespace crosscut::analyze {
namespace {

// cudaGraphLaunch, cuGraphLaunch, hipGraphLaunch, with the suffixes of their versions.
bool LaunchesGraph(const trace::Trace& trace, const trace::Name& name) {
  return name.layer == trace::Layer::kRuntime &&
         trace.text(name.text).find("GraphLaunch") != std::string_view::npos;
}

}  // namespace

GraphLaunches::GraphLaunches(const Context& context) : processes(context.trace().processes.size()) {
  const trace::Trace& trace = context.trace();
  std::vector<bool> graphs;  // by NameId
  for (const trace::Name& name : trace.names) graphs.push_back(LaunchesGraph(trace, name));
  if (std::find(graphs.begin(), graphs.end(), true) == graphs.end()) return;
  // The runtime's call may make one of the driver's: both are one launch.
  trace::SpansAround outermost(
      trace,
      [&](trace::TrackId track, trace::SpanIndex span) {
        return graphs[trace.tracks[track.value].spans.name[span].value];
      },
      trace::SpansAround::Which::kOutermost);
  for (const ProcessWork& work : context.Shared<DeviceWork>().processes) {
    std::set<std::pair<uint32_t, trace::SpanIndex>> with_work;
    for (const DeviceEvent& event : work.events) {
      if (!event.launched()) continue;
      const uint32_t t = event.launch_track.value;
      const trace::Spans& spans = trace.tracks[t].spans;
      if (!graphs[spans.name[event.launch].value]) continue;
      with_work.emplace(t, outermost.Of({t}, event.launch));
    }
    Counts& counts = processes[work.process.value];
    for (const uint32_t t : context.tracks().of(work.process)) {
      const trace::Spans& spans = trace.tracks[t].spans;
      for (trace::SpanIndex s = 0; s < spans.size(); ++s) {
        if (!graphs[spans.name[s].value] || outermost.Of({t}, s) != s) continue;
        ++counts.all;
        counts.without_work += with_work.contains({t, s}) ? 0 : 1;
      }
    }
  }
}

}  // namespace crosscut::analyze
