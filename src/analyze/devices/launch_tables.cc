#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "src/analyze/columns.h"
#include "src/analyze/devices/device_work.h"
#include "src/analyze/devices/tables.h"

namespace crosscut::analyze {
namespace {

constexpr int64_t kShortGapNs = 30'000;    // between kernels that only wait for one another
constexpr int64_t kShortCallNs = 50'000;   // of a launch
constexpr int64_t kLongDelayNs = 100'000;  // from a launch to its work
constexpr int64_t kFullQueue = 1024;       // launches that CUDA lets wait

// The streams of one process: (device, stream) to its work, by begin.
using Streams = std::map<std::pair<int64_t, int64_t>, std::vector<const DeviceEvent*>>;
Streams StreamsOf(const ProcessWork& work) {
  Streams streams;
  for (const DeviceEvent& event : work.events) {
    if (event.work()) streams[{event.device, event.stream}].push_back(&event);
  }
  return streams;
}

// What one call launched: a graph launches many.
struct Launch {
  int64_t works = 0, device_ns = 0, first_begin_ns = 0;
};
// By track and span of the call.
std::map<std::pair<uint32_t, trace::SpanIndex>, Launch> LaunchesOf(const ProcessWork& work) {
  std::map<std::pair<uint32_t, trace::SpanIndex>, Launch> launches;
  for (const DeviceEvent& event : work.events) {  // by begin
    if (!event.work() || !event.launched()) continue;
    Launch& launch = launches[{event.launch_track.value, event.launch}];
    if (launch.works++ == 0) launch.first_begin_ns = event.begin_ns;
    launch.device_ns += event.end_ns - event.begin_ns;
  }
  return launches;
}

struct Cause {
  int64_t count = 0, ns = 0;
};

}  // namespace

Table IdleCausesTable(const trace::Trace& trace, const Context& context) {
  constexpr const char* kCauses[] = {"host_wait", "kernel_wait", "other", "unlinked"};
  TableRows table("idle_causes", Text("process"), Integer("stream"), Text("cause"),
                  Integer("count"), Integer("total_ns"), Integer("device"));
  for (const ProcessWork& work : context.Shared<DeviceWork>().processes) {
    for (const auto& [which, events] : StreamsOf(work)) {
      Cause causes[4];
      int64_t end = events.front()->end_ns;
      for (size_t i = 1; i < events.size(); ++i) {
        const DeviceEvent& event = *events[i];
        const int64_t gap = event.begin_ns - end;
        if (gap > 0) {
          const bool late = event.launched() &&
                            IntervalOf(trace, event.launch_track, event.launch).begin_ns > end;
          const int why = late ? 0 : gap < kShortGapNs ? 1 : event.launched() ? 2 : 3;
          ++causes[why].count;
          causes[why].ns += gap;
        }
        end = std::max(end, event.end_ns);
      }
      for (int c = 0; c < 4; ++c) {
        if (causes[c].count == 0) continue;
        table.Add(context.process_label(work.process), which.second, kCauses[c], causes[c].count,
                  causes[c].ns, which.first);
      }
    }
  }
  return table.Make();
}

Table LaunchesTable(const trace::Trace& trace, const Context& context) {
  struct Sums {
    int64_t count = 0, host = 0, device = 0, delay = 0, longest = 0, brief = 0, slow = 0, late = 0;
    int64_t works = 0;
  };
  std::map<std::pair<uint32_t, std::string_view>, Sums> calls;
  for (const ProcessWork& work : context.Shared<DeviceWork>().processes) {
    for (const auto& [place, launch] : LaunchesOf(work)) {
      const trace::TrackId track = {place.first};
      const trace::Interval call = IntervalOf(trace, track, place.second);
      const int64_t host = call.end_ns - call.begin_ns, device = launch.device_ns;
      const int64_t delay = std::max<int64_t>(0, launch.first_begin_ns - call.end_ns);
      const trace::NameId name = trace.tracks[track.value].spans.name[place.second];
      Sums& s = calls[{work.process.value, trace.name_text(name)}];
      ++s.count;
      s.works += launch.works;
      s.host += host;
      s.device += device;
      s.delay += delay;
      s.longest = std::max(s.longest, delay);
      s.brief += device < host && host <= kShortCallNs ? 1 : 0;
      s.slow += host > kShortCallNs ? 1 : 0;
      s.late += delay > kLongDelayNs ? 1 : 0;
    }
  }
  TableRows table("launches", Text("process"), Text("launch"), Integer("count"), Integer("host_ns"),
                  Integer("device_ns"), Integer("delay_ns"), Integer("max_delay_ns"),
                  Integer("short_count"), Integer("slow_call_count"), Integer("late_count"),
                  Integer("work_count"));
  for (const auto& [which, s] : calls) {
    table.Add(context.process_label({which.first}), which.second, s.count, s.host, s.device,
              s.delay, s.longest, s.brief, s.slow, s.late, s.works);
  }
  return table.Make();
}

Table QueueLengthTable(const trace::Trace& trace, const Context& context) {
  TableRows table("queue_length", Text("process"), Integer("stream"), Integer("launches"),
                  Real("mean_length"), Integer("max_length"), Integer("full_ns"),
                  Integer("device"));
  for (const ProcessWork& work : context.Shared<DeviceWork>().processes) {
    for (const auto& [which, events] : StreamsOf(work)) {
      std::vector<std::pair<int64_t, int>> changes;
      std::set<std::pair<uint32_t, trace::SpanIndex>> calls;
      for (const DeviceEvent* event : events) {
        if (!event->launched()) continue;
        calls.emplace(event->launch_track.value, event->launch);
        const int64_t launched = IntervalOf(trace, event->launch_track, event->launch).begin_ns;
        changes.emplace_back(std::min(launched, event->begin_ns), 1);
        changes.emplace_back(event->begin_ns, -1);
      }
      if (changes.empty()) continue;
      std::sort(changes.begin(), changes.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
      int64_t length = 0, most = 0, full_ns = 0;
      double weighted = 0;
      for (size_t i = 0; i + 1 < changes.size(); ++i) {
        length += changes[i].second;
        const int64_t ns = changes[i + 1].first - changes[i].first;
        if (ns == 0) continue;
        most = std::max(most, length);
        if (length >= kFullQueue) full_ns += ns;
        weighted += static_cast<double>(length) * static_cast<double>(ns);
      }
      const auto span = static_cast<double>(changes.back().first - changes.front().first);
      table.Add(context.process_label(work.process), which.second, calls.size(),
                span > 0 ? weighted / span : 0, most, full_ns, which.first);
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
