#include "src/analyze/devices/device_waits.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "src/analyze/columns.h"

namespace crosscut::analyze {
namespace {

// Calls that return when something on the device has ended.
constexpr std::string_view kBlocking[] = {"cudaDeviceSynchronize", "cudaStreamSynchronize",
                                          "cudaEventSynchronize",  "cuCtxSynchronize",
                                          "cuStreamSynchronize",   "cuEventSynchronize",
                                          "hipDeviceSynchronize",  "hipStreamSynchronize",
                                          "hipEventSynchronize",   "clFinish",
                                          "clWaitForEvents"};
// Calls that may do so, for the copy that they themselves make.
constexpr std::string_view kCopies[] = {"cudaMemcpy", "cuMemcpy", "hipMemcpy", "clEnqueueRead",
                                        "clEnqueueWrite"};

enum class Blocks : uint8_t { kNot, kSync, kCopy };

Blocks BlocksBy(std::string_view name) {
  for (const std::string_view call : kBlocking) {
    if (name.starts_with(call)) return Blocks::kSync;
  }
  for (const std::string_view call : kCopies) {
    if (name.starts_with(call)) return Blocks::kCopy;
  }
  return Blocks::kNot;
}

class Waits {
 public:
  Waits(const trace::Trace& trace, const ProcessWork& work) : trace_(trace), work_(work) {
    for (const trace::Name& name : trace.names) blocks_.push_back(BlocksBy(trace.text(name.text)));
    for (uint32_t i = 0; i < work.events.size(); ++i) {
      const DeviceEvent& event = work.events[i];
      if (event.work()) by_end_.push_back(i);
      if (event.launched()) launched_[Key(event.launch_track, event.launch)].push_back(i);
    }
    std::sort(by_end_.begin(), by_end_.end(), [&](uint32_t a, uint32_t b) {
      return work.events[a].end_ns < work.events[b].end_ns;
    });
    NoteRecords();
  }

  std::vector<DeviceWait> Find(std::span<const uint32_t> tracks) {
    for (const uint32_t t : tracks) {
      const trace::Track& track = trace_.tracks[t];
      if (track.kind != trace::TrackKind::kThread) continue;
      for (uint32_t s = 0; s < track.spans.size(); ++s) {
        const Blocks blocks = blocks_[track.spans.name[s].value];
        if (blocks == Blocks::kSync) FindSync({t}, s);
        if (blocks == Blocks::kCopy) FindCopy({t}, s);
      }
    }
    return std::move(found_);
  }

 private:
  struct Stream {
    int64_t device, number;
    bool Has(const DeviceEvent& event) const {
      return event.stream == number && event.device == device;
    }
  };

  static uint64_t Key(trace::TrackId track, trace::SpanIndex span) {
    return uint64_t{track.value} << 32 | span;
  }

  // Records of waits stand on their device, with the correlation of the call that waits and the
  // stream: devices number theirs alike.
  void NoteRecords() {
    correlation_ = trace_.strings.Find("correlation");
    const trace::StringId stream = trace_.strings.Find("stream");
    if (!correlation_.valid() || !stream.valid()) return;
    for (const DeviceEvent& event : work_.events) {
      if (event.work()) continue;
      const trace::Track& track = trace_.tracks[event.track.value];
      const int64_t correlation = NumberArg(track, event.span, correlation_);
      const int64_t on = NumberArg(track, event.span, stream);
      if (correlation != kMissing && on != kMissing) recorded_[correlation] = {track.device, on};
    }
  }

  void FindSync(trace::TrackId track, trace::SpanIndex span) {
    const trace::Interval call = IntervalOf(trace_, track, span);
    Stream on = {};
    bool recorded = false;
    if (correlation_.valid()) {
      const int64_t own = NumberArg(trace_.tracks[track.value], span, correlation_);
      const auto record = recorded_.find(own);
      recorded = own != kMissing && record != recorded_.end();
      if (recorded) on = record->second;
    }
    auto at = std::upper_bound(
        by_end_.begin(), by_end_.end(), call.end_ns,
        [&](int64_t ns, uint32_t event) { return ns < work_.events[event].end_ns; });
    while (at != by_end_.begin()) {
      const uint32_t index = *--at;
      const DeviceEvent& event = work_.events[index];
      if (event.end_ns <= call.begin_ns) return;  // ended before: nobody waited
      const bool before =
          !event.launched() ||
          IntervalOf(trace_, event.launch_track, event.launch).begin_ns < call.begin_ns;
      if (!before || (recorded && on.number >= 0 && !on.Has(event))) continue;
      found_.push_back({track, span, index, recorded});
      return;
    }
  }

  void FindCopy(trace::TrackId track, trace::SpanIndex span) {
    const auto own = launched_.find(Key(track, span));
    if (own == launched_.end()) return;
    const int64_t end = IntervalOf(trace_, track, span).end_ns;
    for (const uint32_t index : own->second) {
      const DeviceEvent& event = work_.events[index];
      if (event.type != WorkType::kCopy || event.end_ns > end) continue;
      found_.push_back({track, span, index, true});
      return;
    }
  }

  const trace::Trace& trace_;
  const ProcessWork& work_;
  std::vector<Blocks> blocks_;    // by name
  std::vector<uint32_t> by_end_;  // events that work
  std::unordered_map<uint64_t, std::vector<uint32_t>> launched_;
  std::unordered_map<int64_t, Stream> recorded_;  // by correlation
  trace::StringId correlation_;
  std::vector<DeviceWait> found_;
};

}  // namespace

std::vector<DeviceWait> FindDeviceWaits(const trace::Trace& trace, const Context& context,
                                        const ProcessWork& work) {
  return Waits(trace, work).Find(context.tracks().of(work.process));
}

Table DeviceWaitsTable(const trace::Trace& trace, const Context& context) {
  TableRows table("device_waits", Text("process"), Text("thread"), Text("call"),
                  Integer("begin_ns"), Integer("end_ns"), Text("waited_for"), Integer("device"),
                  Integer("stream"), Integer("work_end_ns"), Integer("work_ns"), Text("known"));
  for (const ProcessWork& work : context.Shared<DeviceWork>().processes) {
    for (const DeviceWait& wait : FindDeviceWaits(trace, context, work)) {
      const DeviceEvent& event = work.events[wait.event];
      const trace::Interval interval = IntervalOf(trace, wait.track, wait.call);
      table.Add(context.process_label(work.process), context.track_label(wait.track),
                trace.span_text(wait.track, wait.call), interval.begin_ns, interval.end_ns,
                trace.span_text(event.track, event.span), event.device, event.stream, event.end_ns,
                event.end_ns - std::max(event.begin_ns, interval.begin_ns),
                wait.recorded ? "recorded" : "derived");
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
