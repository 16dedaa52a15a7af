#include "src/analyze/devices/device_work.h"

#include <algorithm>

#include "src/analyze/table.h"

namespace crosscut::analyze {
namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Flows into one device track, by span: indices into Trace::flows.
using Arrivals = std::vector<uint32_t>;
constexpr uint32_t kNone = UINT32_MAX;

std::vector<Arrivals> FindArrivals(const trace::Trace& trace) {
  std::vector<Arrivals> arrivals(trace.tracks.size());
  for (size_t i = 0; i < trace.flows.size(); ++i) {
    const trace::Flow& flow = trace.flows[i];
    if (!flow.to_track.valid() || flow.to == trace::kNoSpan) continue;
    const trace::Track& track = trace.tracks[flow.to_track.value];
    if (track.kind != trace::TrackKind::kDevice) continue;
    Arrivals& of = arrivals[flow.to_track.value];
    of.resize(track.spans.size(), kNone);
    if (of[flow.to] == kNone) of[flow.to] = static_cast<uint32_t>(i);
  }
  return arrivals;
}

}  // namespace

std::string_view NameOf(WorkType type) {
  constexpr std::string_view kNames[] = {"computation", "communication", "copy", "wait"};
  return kNames[static_cast<int>(type)];
}

WorkType TypeOfWork(const trace::Trace& trace, const trace::Name& of) {
  if (of.layer == trace::Layer::kIdle) return WorkType::kWait;
  if (of.layer == trace::Layer::kComm) return WorkType::kCommunication;
  const std::string_view name = trace.text(of.text);
  for (const std::string_view start : {"Memcpy", "Memset", "hipMemcpy", "hipMemset", "dma",
                                       "CopyHostToDevice", "CopyDeviceToHost"}) {
    if (name.starts_with(start)) return WorkType::kCopy;
  }
  for (const std::string_view copy :
       {"clEnqueueRead", "clEnqueueWrite", "clEnqueueCopy", "clEnqueueFill", "clEnqueueMigrate"}) {
    if (Has(name, copy) && !Has(name, "(")) return WorkType::kCopy;
  }
  for (const std::string_view library : {"nccl", "rccl", "hccl", "msccl", "oneccl"}) {
    if (Has(name, library)) return WorkType::kCommunication;
  }
  for (const std::string_view collective :
       {"all-reduce", "all-gather", "all-to-all", "reduce-scatter", "collective-permute"}) {
    if (name.starts_with(collective)) return WorkType::kCommunication;
  }
  return WorkType::kComputation;
}

DeviceWork::DeviceWork(const trace::Trace& trace) {
  std::vector<WorkType> types;
  for (const trace::Name& name : trace.names) types.push_back(TypeOfWork(trace, name));
  const std::vector<Arrivals> arrivals = FindArrivals(trace);
  std::vector<std::vector<DeviceEvent>> events(trace.processes.size());
  for (uint32_t t = 0; t < trace.tracks.size(); ++t) {
    const trace::Track& track = trace.tracks[t];
    if (track.kind != trace::TrackKind::kDevice) continue;
    for (uint32_t s = 0; s < track.spans.size(); ++s) {
      if (trace.name(track.spans.name[s]).kind != trace::Kind::kSpan) continue;
      DeviceEvent event = {track.spans.begin_ns[s],
                           track.spans.end_ns[s],
                           track.device,
                           track.os_id,
                           {t},
                           s,
                           types[track.spans.name[s].value],
                           {}};
      if (s < arrivals[t].size() && arrivals[t][s] != kNone) {
        const trace::Flow& flow = trace.flows[arrivals[t][s]];
        event.launch_track = flow.from_track;
        event.launch = flow.from;
      }
      events[track.process.value].push_back(event);
    }
  }
  for (uint32_t p = 0; p < events.size(); ++p) {
    if (events[p].empty()) continue;
    std::stable_sort(
        events[p].begin(), events[p].end(),
        [](const DeviceEvent& a, const DeviceEvent& b) { return a.begin_ns < b.begin_ns; });
    processes.push_back({{p}, std::move(events[p])});
  }
}

const ProcessWork* DeviceWork::of(trace::ProcessId process) const {
  const auto found = std::lower_bound(
      processes.begin(), processes.end(), process.value,
      [](const ProcessWork& work, uint32_t value) { return work.process.value < value; });
  return found == processes.end() || found->process != process ? nullptr : &*found;
}

TypeSums SumTypes(std::span<const DeviceEvent> events) {
  struct Edge {
    int64_t at_ns;
    int type, change;
  };
  std::vector<Edge> edges;
  edges.reserve(events.size() * 2);
  for (const DeviceEvent& event : events) {
    if (!event.work()) continue;
    const int type = static_cast<int>(event.type);
    edges.push_back({event.begin_ns, type, 1});
    edges.push_back({event.end_ns, type, -1});
  }
  std::sort(edges.begin(), edges.end(),
            [](const Edge& a, const Edge& b) { return a.at_ns < b.at_ns; });
  TypeSums sums = {};
  std::array<int64_t, kWorkTypes> running = {};
  unsigned set = 0;
  for (size_t i = 0; i < edges.size(); ++i) {
    if (i > 0) sums[set] += edges[i].at_ns - edges[i - 1].at_ns;
    int64_t& count = running[static_cast<size_t>(edges[i].type)];
    count += edges[i].change;
    const unsigned bit = 1U << edges[i].type;
    set = count > 0 ? set | bit : set & ~bit;
  }
  return sums;
}

trace::Interval ExtentOf(std::span<const DeviceEvent> events) {
  trace::Interval extent = {INT64_MAX, INT64_MIN};
  for (const DeviceEvent& event : events) {
    if (!event.work()) continue;
    extent.begin_ns = std::min(extent.begin_ns, event.begin_ns);
    extent.end_ns = std::max(extent.end_ns, event.end_ns);
  }
  return extent;
}

std::vector<trace::Interval> BusyIntervals(const ProcessWork& work, trace::Interval window) {
  std::vector<trace::Interval> busy;
  for (const DeviceEvent& event : work.events) {
    if (event.work()) busy.push_back({event.begin_ns, event.end_ns});
  }
  return UnionOf(std::move(busy), window);
}

int64_t NumberArg(const trace::Track& track, trace::SpanIndex span, trace::StringId key) {
  const trace::Arg arg = track.args.Find(span, key);
  return arg.key.valid() && !arg.is_text ? arg.value : kMissing;
}

std::string_view TextArg(const trace::Trace& trace, const trace::Track& track,
                         trace::SpanIndex span, trace::StringId key) {
  return trace.text(track.args.Find(span, key).text());
}

trace::Interval IntervalOf(const trace::Trace& trace, trace::TrackId track, trace::SpanIndex span) {
  const trace::Track& of = trace.tracks[track.value];
  return {of.spans.begin_ns[span], of.spans.StatedEnd(span)};
}

}  // namespace crosscut::analyze
