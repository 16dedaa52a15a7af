// TensorFlow's, JAX's and XProf's traces: a serialised XSpace. docs/xspace.md says what of it
// becomes what.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string>

#include "src/base/file.h"
#include "src/import/importer.h"
#include "src/import/xspace_layers.h"
#include "src/trace/builder.h"
#include "src/xspace/reader.h"

namespace crosscut::import {
namespace {

using trace::Kind;
using trace::Layer;
using xspace::Event;
using xspace::Line;
using xspace::Plane;
using xspace::Stat;

constexpr int64_t kFarthest = int64_t{1} << 61;  // ps and ns: sums of three still fit
constexpr size_t kMostLanes = 64;

// An event of a line, cut out of the bytes: begin first, the longer of two before the shorter.
struct Timed {
  int64_t begin_ns, end_ns;
  Event event;
};

int64_t ToNs(int64_t timestamp_ns, int64_t offset_ps) {
  int64_t whole = offset_ps / 1000, rest = offset_ps % 1000;
  if (rest < 0) rest += 1000, --whole;
  return timestamp_ns + whole + (rest >= 500);
}

// Ordinal at the end of "/device:GPU:3" or "/device:GPU:0 (XLA)"; 0 where there is none.
int64_t OrdinalOf(std::string_view plane) {
  const size_t colon = plane.rfind(':');
  int64_t ordinal = 0;
  if (colon == std::string_view::npos) return 0;
  std::from_chars(plane.data() + colon + 1, plane.data() + plane.size(), ordinal);
  return ordinal;
}

class XSpaceImport {
 public:
  explicit XSpaceImport(std::string_view bytes) : bytes_(bytes) {}

  Result<trace::Trace> Run(const std::string& path) {
    process_ = builder_.AddProcess("host");
    const auto hosts = xspace::SpaceTexts(bytes_, xspace::Texts::kHostnames);
    const bool named = hosts.ok() && !hosts->empty();
    builder_.process(process_).name = builder_.Text(named ? hosts->front() : "host");
    Status status = xspace::ForEachPlane(bytes_, [&](const Plane& plane) { return Take(plane); });
    if (!status.ok()) {
      if (builder_.tracks() == 0) return status.At(path);
      builder_.trace().gaps.push_back("The file is damaged (" + std::string(status.message()) +
                                      "); what stands before is here.");
      builder_.trace().damaged = true;
    }
    TellTexts();
    return Finish();
  }

 private:
  Status Take(const Plane& plane) {
    Status status = plane.ForEachStat([&](const Stat& stat) {
      const std::string_view name = plane.stat_name(stat.metadata_id);
      if (name == "profile_start_time") start_ns_ = static_cast<int64_t>(stat.number);
      if (name == "profile_stop_time") stop_ns_ = static_cast<int64_t>(stat.number);
      if (name == "process_id") pid_ = static_cast<int64_t>(stat.number);
      return Status();
    });
    if (!status.ok()) return status;
    const bool device = IsDevicePlane(plane.name);
    bool streams = false;
    status = plane.ForEachLine([&](const Line& line) {
      streams = streams || line.name.starts_with("Stream #");
      return Status();
    });
    if (!status.ok()) return status;
    return plane.ForEachLine([&](const Line& line) {
      if (device && IsDerivedLine(line, streams)) return Status();
      return TakeLine(plane, line, device);
    });
  }

  Status TakeLine(const Plane& plane, const Line& line, bool device) {
    std::vector<Timed> events;
    Status status = xspace::ForEachEvent(line, [&](const Event& event) {
      const bool timed = !event.aggregated && event.duration_ps >= 0 &&
                         event.duration_ps < kFarthest && event.offset_ps > -kFarthest &&
                         event.offset_ps < kFarthest && line.timestamp_ns > -kFarthest &&
                         line.timestamp_ns < kFarthest;
      if (!timed) return Status();
      const int64_t begin = ToNs(line.timestamp_ns, event.offset_ps);
      events.push_back(
          {begin, ToNs(line.timestamp_ns, event.offset_ps + event.duration_ps), event});
      return Status();
    });
    std::stable_sort(events.begin(), events.end(), [](const Timed& a, const Timed& b) {
      return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
    });
    // Events that overlap without nesting stand on lanes of their own.
    std::vector<Lane> lanes;
    for (const Timed& timed : events) {
      Lane* lane = LaneFor(&lanes, timed, plane, line, device);
      if (Status put = Put(plane, timed, device, lane); !put.ok()) return put;
    }
    for (Lane& lane : lanes) {
      while (!lane.ends.empty()) EndInnermost(&lane);
    }
    return status;
  }

  struct Lane {
    trace::TrackBuilder* track;
    std::vector<int64_t> ends;  // of what is open, innermost last
  };

  static void EndInnermost(Lane* lane) {
    lane->track->End(lane->ends.back());
    lane->ends.pop_back();
  }

  Lane* LaneFor(std::vector<Lane>* lanes, const Timed& timed, const Plane& plane, const Line& line,
                bool device) {
    for (Lane& lane : *lanes) {
      while (!lane.ends.empty() && lane.ends.back() <= timed.begin_ns) EndInnermost(&lane);
      if (lane.ends.empty() || timed.end_ns <= lane.ends.back()) return &lane;
    }
    if (lanes->size() == kMostLanes) {  // no real queue is like this: cut what lies on the last
      Lane& last = lanes->back();
      while (!last.ends.empty()) EndInnermost(&last);
      return &last;
    }
    trace::TrackBuilder& builder =
        builder_.AddTrack(process_, device ? trace::TrackKind::kDevice : trace::TrackKind::kThread);
    trace::Track& track = builder.track();
    std::string name(line.display_name.empty() ? line.name : line.display_name);
    if (!lanes->empty()) name += " (" + std::to_string(lanes->size() + 1) + ")";
    track.name = builder_.Text(name);
    track.os_id = line.display_id != 0 ? line.display_id : line.id;
    track.device = device ? OrdinalOf(plane.name) : -1;
    lanes->push_back({&builder, {}});
    return &lanes->back();
  }

  // What an event's stats may tell of it.
  struct Taken {
    const Plane& plane;
    const Timed& timed;
    bool device;
    trace::TrackBuilder* track;
    bool root = false;  // of a step
    int64_t step = -1;
  };

  Status Put(const Plane& plane, const Timed& timed, bool device, Lane* lane) {
    const xspace::EventMetadata metadata = plane.event_metadata(timed.event.metadata_id);
    const bool shown = device && !metadata.display_name.empty();
    const std::string_view text = shown ? metadata.display_name : metadata.name;
    const Layer layer = device ? Layer::kDevice : HostLayer(text);
    lane->track->Begin(timed.begin_ns, builder_.AddName({builder_.Text(text), Kind::kSpan, layer,
                                                         /*waits=*/false, trace::StringId()}));
    lane->ends.push_back(timed.end_ns);
    begin_ns_ = std::min(begin_ns_, timed.begin_ns);
    end_ns_ = std::max(end_ns_, timed.end_ns);
    Taken taken = {plane, timed, device, lane->track};
    const auto take = [&](const Stat& stat) {
      TakeStat(stat, &taken);
      return Status();
    };
    Status status = xspace::ForEachMetadataStat(metadata.bytes, take);
    if (status.ok()) status = xspace::ForEachEventStat(timed.event.bytes, take);
    if (taken.root && taken.step >= 0) TakeStep(lane->track->id(), timed, text, taken.step);
    return status;
  }

  void TakeStat(const Stat& stat, Taken* taken) {
    trace::TrackBuilder* track = taken->track;
    const std::string_view key = taken->plane.stat_name(stat.metadata_id);
    const trace::StringId id = builder_.Text(key);
    const auto number = static_cast<int64_t>(stat.number);
    switch (stat.type) {
      case Stat::Type::kNone:
      case Stat::Type::kBytes: return;  // HLO protos and the like: nobody reads them here
      case Stat::Type::kText: return track->ArgText(id, builder_.Text(stat.text));
      case Stat::Type::kRef:
        return track->ArgText(id, builder_.Text(taken->plane.stat_name(number)));
      case Stat::Type::kDouble: return track->ArgText(id, builder_.Text(std::to_string(stat.real)));
      default: track->Arg(id, number);
    }
    if (key == "_r") taken->root = number >= 1;
    if (key == "step_num") taken->step = number;
    if (key != "correlation_id" || number == 0) return;
    // Of launches and what they launched; a space of their own.
    const uint64_t flow = stat.number | uint64_t{1} << 62;
    if (taken->device) {
      track->FlowIn(taken->timed.begin_ns, flow);
    } else {
      track->FlowOut(taken->timed.begin_ns, flow);
    }
  }

  void TakeStep(trace::TrackId track, const Timed& timed, std::string_view kind, int64_t number) {
    const trace::NameId name =
        builder_.AddName({builder_.Text(kind), Kind::kStep, Layer::kNone, false, {}});
    builder_.StepBegin(track, timed.begin_ns, name);
    builder_.StepLevel(track, number, 3, false);
    builder_.StepEnd(track, timed.end_ns);
  }

  void TellTexts() {
    for (const auto which : {xspace::Texts::kErrors, xspace::Texts::kWarnings}) {
      const auto texts = xspace::SpaceTexts(bytes_, which);
      if (!texts.ok()) continue;
      for (const std::string_view text : *texts) {
        builder_.trace().gaps.push_back("Its writer says: " + std::string(text));
      }
    }
  }

  // Times are those of the wall clock, or, where the writer has normalised them, count from the
  // start of the profile.
  trace::Trace Finish() {
    trace::Process& process = builder_.process(process_);
    if (begin_ns_ > end_ns_) begin_ns_ = end_ns_ = 0;  // no event at all
    const bool normalised = start_ns_ > 0 && begin_ns_ < start_ns_ / 2;
    const int64_t base = normalised ? start_ns_ : 0;
    process.start_ns = start_ns_ > 0 ? std::min(start_ns_ - base, begin_ns_) : begin_ns_;
    process.end_ns = std::max(stop_ns_ - base, end_ns_);
    process.pid = pid_;
    trace::Trace& trace = builder_.trace();
    trace.clock = normalised ? "profile" : "CLOCK_REALTIME";
    trace.realtime_offset_ns = base;
    trace.started_realtime_ns = process.start_ns + base;
    return builder_.Finish();
  }

  std::string_view bytes_;
  trace::Builder builder_;
  trace::ProcessId process_;
  int64_t start_ns_ = 0, stop_ns_ = 0, pid_ = 0;
  int64_t begin_ns_ = INT64_MAX, end_ns_ = INT64_MIN;
};

}  // namespace

bool SniffXSpace(const Input& input) {
  return !input.directory && xspace::LooksLikeSpace(input.head);
}

Result<trace::Trace> MakeXSpace(const Input& input) {
  const Result<std::string> bytes = base::ReadSmallFile(input.path, xspace::kMaxSpaceBytes);
  if (!bytes.ok()) return bytes.status();
  return XSpaceImport(*bytes).Run(input.path);
}

}  // namespace crosscut::import
