#include "src/analyze/devices/device_waits.h"

#include <algorithm>
#include <bit>
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

// Work in order of its end, each with when it was launched: finds the last that was launched before
// a time, in logarithmic time (a tree of minima).
class Ends {
 public:
  void Add(int64_t end_ns, int64_t launched_ns, uint32_t event) {
    work_.push_back({end_ns, launched_ns, event});
  }
  void Build() {
    std::stable_sort(work_.begin(), work_.end(),
                     [](const Work& a, const Work& b) { return a.end_ns < b.end_ns; });
    leaves_ = std::bit_ceil(work_.size());
    first_.assign(2 * leaves_, INT64_MAX);
    for (size_t i = 0; i < work_.size(); ++i) first_[leaves_ + i] = work_[i].launched_ns;
    for (size_t i = leaves_; i-- > 1;) first_[i] = std::min(first_[2 * i], first_[2 * i + 1]);
  }
  // The last of those that end behind `begin_ns`, up to `end_ns`, and were launched before
  // `begin_ns`; null where none was.
  const uint32_t* Last(int64_t begin_ns, int64_t end_ns) const {
    const size_t from = Behind(begin_ns);
    for (size_t to = Behind(end_ns); to > from;) {
      size_t node = leaves_ + to - 1, length = 1;
      while (node % 2 == 1 && to >= from + 2 * length) node /= 2, length *= 2;
      if (first_[node] >= begin_ns) {
        to -= length;
        continue;
      }
      while (node < leaves_) node = 2 * node + (first_[2 * node + 1] < begin_ns ? 1 : 0);
      return &work_[node - leaves_].event;
    }
    return nullptr;
  }

 private:
  struct Work {
    int64_t end_ns, launched_ns;
    uint32_t event;
  };
  size_t Behind(int64_t at) const {
    const auto first = std::partition_point(work_.begin(), work_.end(),
                                            [at](const Work& one) { return one.end_ns <= at; });
    return static_cast<size_t>(first - work_.begin());
  }

  std::vector<Work> work_;
  size_t leaves_ = 0;
  std::vector<int64_t> first_;  // launched, by node; the root is 1
};

class Waits {
 public:
  Waits(const trace::Trace& trace, const ProcessWork& work) : trace_(trace), work_(work) {
    for (const trace::Name& name : trace.names) blocks_.push_back(BlocksBy(trace.text(name.text)));
    for (uint32_t i = 0; i < work.events.size(); ++i) {
      const DeviceEvent& event = work.events[i];
      if (event.launched()) launched_[Key(event.launch_track, event.launch)].push_back(i);
      if (!event.work()) continue;
      const int64_t launched = event.launched()
                                   ? IntervalOf(trace, event.launch_track, event.launch).begin_ns
                                   : INT64_MIN;
      all_.Add(event.end_ns, launched, i);
      of_stream_[{event.device, event.stream}].Add(event.end_ns, launched, i);
    }
    all_.Build();
    for (auto& [stream, ends] : of_stream_) ends.Build();
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
  using Stream = std::pair<int64_t, int64_t>;  // device, number

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
    const bool of_one = recorded && on.second >= 0;
    const auto stream = of_one ? of_stream_.find(on) : of_stream_.end();
    if (of_one && stream == of_stream_.end()) return;
    const Ends& ends = of_one ? stream->second : all_;
    if (const uint32_t* last = ends.Last(call.begin_ns, call.end_ns)) {
      found_.push_back({track, span, *last, recorded});
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
  std::vector<Blocks> blocks_;  // by name
  Ends all_;                    // events that work
  std::map<Stream, Ends> of_stream_;
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
