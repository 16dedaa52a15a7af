#include "src/import/xspace/xspace_own.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/base/counted.h"
#include "src/import/xspace/xspace_memory.h"

namespace crosscut::import {
namespace {

using trace::Layer;
using xspace::LineNote;
using xspace::PlaneNote;
using xspace::SpanNote;
using xspace::StepNote;

constexpr int64_t kFarthest = int64_t{1} << 61;

Layer LayerOf(int64_t number) {
  return number >= 0 && number < trace::kLayerCount ? static_cast<Layer>(number) : Layer::kNone;
}

trace::TrackKind KindOf(int64_t role) {
  if (role == LineNote::kDevice) return trace::TrackKind::kDevice;
  return role == LineNote::kAsync ? trace::TrackKind::kAsync : trace::TrackKind::kThread;
}

bool Shown(int64_t time) { return time > -kFarthest && time < kFarthest; }

// The event's times; false where no clock shows them.
bool TimesOf(const xspace::Line& line, const xspace::Event& event, int64_t* begin, int64_t* end) {
  if (!Shown(line.timestamp_ns) || !Shown(event.offset_ps) || !Shown(event.duration_ps)) {
    return false;
  }
  *begin = line.timestamp_ns + event.offset_ps / 1000;
  *end = *begin + std::max<int64_t>(0, event.duration_ps / 1000);
  return true;
}

// What is open on a track, outermost first, as the builder has it.
class Open {
 public:
  explicit Open(trace::TrackBuilder* track) : track_(track) {}
  // False: so many are open that it cannot outlive what it lies in, and ends with that.
  bool Begin(int64_t end) {
    const bool outlives = !ends_.empty() && end > ends_.back();
    const bool may = !outlives || ends_.size() < kMostAround;
    ends_.push_back(may ? end : ends_.back());
    crossing_ += outlives && may ? 1 : 0;
    return may;
  }
  // Ends what is over at `at`, in the order of the ends; what is above it goes on.
  void EndUntil(int64_t at) {
    while (!ends_.empty()) {
      const bool crossing = crossing_ > 0;
      const int64_t first = crossing ? *std::min_element(ends_.begin(), ends_.end()) : ends_.back();
      if (first > at) return;
      if (crossing) {
        track_->EndThose(first, ends_);
        ends_.erase(std::remove(ends_.begin(), ends_.end(), first), ends_.end());
        CountCrossing();
      } else {
        track_->End(first);
        ends_.pop_back();
      }
    }
  }

 private:
  static constexpr size_t kMostAround = 4096;
  void CountCrossing() {
    crossing_ = 0;
    for (size_t i = 1; i < ends_.size(); ++i) crossing_ += ends_[i] > ends_[i - 1] ? 1 : 0;
  }

  trace::TrackBuilder* track_;
  std::vector<int64_t> ends_;
  int64_t crossing_ = 0;  // that outlive what they lie in
};

// Whether every time of the note is one that a clock shows, and its pauses are in order.
bool Sound(const PlaneNote& note) {
  int64_t last = -kFarthest;
  for (const auto& [begin, end] : note.paused) {
    if (begin < last || end < begin) return false;
    last = end;
  }
  return Shown(note.start_ns) && Shown(note.end_ns) && last < kFarthest;
}

}  // namespace

Status OwnPlanes::Take(const xspace::Plane& plane) {
  PlaneNote note;
  if (Status status = Decode(plane.note, &note); !status.ok()) return status;
  if (!Sound(note)) return Status::Corrupt("times of a process that no clock shows");
  const trace::ProcessId process = ProcessOf(note);
  if (!note.key.empty()) parents_.push_back({process, note.parent});
  lines_.clear();
  plane_ = nullptr;
  Status status =
      plane.ForEachLine([&](const xspace::Line& line) { return TakeLine(plane, note, line); });
  if (!status.ok()) return status;
  // Steps name the lines of the threads that began them.
  return plane.ForEachLine([&](const xspace::Line& line) {
    LineNote role;
    const Status read = Decode(line.note, &role);
    return read.ok() && role.role == LineNote::kSteps ? TakeSteps(plane, line, process) : read;
  });
}

trace::ProcessId OwnPlanes::ProcessOf(const PlaneNote& note) {
  const auto known = processes_.find(note.process);
  if (known != processes_.end()) return known->second;
  const trace::ProcessId id = processes_.empty() ? first_ : builder_->AddProcess(note.key);
  processes_[note.process] = id;
  trace::Process& process = builder_->process(id);
  process.key = builder_->Text(note.key);
  process.name = builder_->Text(note.name);
  process.pid = note.pid;
  process.parent_pid = note.parent_pid;
  process.start_ns = note.start_ns;
  process.end_ns = std::max(note.start_ns, note.end_ns);
  process.complete = note.complete;
  if (!note.why_incomplete.empty()) process.why_incomplete = builder_->Text(note.why_incomplete);
  for (const auto& [begin, end] : note.paused) process.paused.push_back({begin, end});
  return id;
}

void OwnPlanes::Pass(const xspace::Plane& plane, const PlaneNote& whose, const xspace::Line& line,
                     const LineNote& note) {
  const trace::ProcessId process = ProcessOf(whose);
  if (plane_ == nullptr) {
    xspace::Plane named = plane;
    if (!whose.device_name.empty())
      named.name = builder_->trace().text(builder_->Text(whose.device_name));
    if (whose.device >= 0) devices_[process.value].Set(named.name, whose.device);
    plane_ = std::make_shared<const xspace::Plane>(named);
  }
  PassedProfile& profile = passed_[note.profile];
  if (note.python != 0) profile.python_lines[line.id] = note.python;
  PassedPart& part = profile.parts.try_emplace(note.part, PassedPart{process, {}}).first->second;
  if (part.planes.empty() || part.planes.back().plane != plane_)
    part.planes.push_back({plane_, {}});
  part.planes.back().lines.push_back(line);
}

Status OwnPlanes::TakePassed() {
  uint64_t number = 0;
  for (auto& [id, profile] : passed_) {
    for (const auto& [part_id, part] : profile.parts) {
      Placement placement;
      placement.steps = false;
      placement.devices = &devices_[part.process.value];
      placement.flow_space = uint64_t{1} << 62 | number++ << 40;
      placement.python_lines = profile.python_lines;
      placement.tracks = &profile.tracks;
      XSpacePlanes planes(builder_, part.process, placement);
      for (const PassedPlane& passed : part.planes) {
        const Status status = planes.TakeLines(*passed.plane, passed.lines);
        if (!status.ok()) return status;
      }
      planes.Finish();
    }
  }
  return {};
}

Status OwnPlanes::Finish() {
  for (const auto& [child, number] : parents_) {
    const auto parent = processes_.find(number);
    if (parent == processes_.end()) continue;
    trace::ProcessId above = parent->second;
    while (above.valid() && above != child) above = builder_->process(above).parent;
    if (!above.valid()) builder_->process(child).parent = parent->second;
  }
  if (cut_ > 0) {
    builder_->trace().gaps.push_back(base::Counted(
        cut_, "{span ends|spans end} with the span around {it|them}: too many are open there."));
  }
  return TakePassed();
}

Status OwnPlanes::TakeLine(const xspace::Plane& plane, const PlaneNote& whose,
                           const xspace::Line& line) {
  LineNote note;
  if (Status status = Decode(line.note, &note); !status.ok()) return status;
  if (note.role == LineNote::kSteps) return {};
  if (note.role == LineNote::kPassed) {
    Pass(plane, whose, line, note);
    return {};
  }
  const trace::ProcessId process = ProcessOf(whose);
  trace::TrackBuilder& builder = builder_->AddTrack(process, KindOf(note.role));
  lines_.push_back(builder.id());
  const bool thread = KindOf(note.role) == trace::TrackKind::kThread;
  if (note.lead && thread) builder_->process(process).lead = builder.id();
  trace::Track& track = builder.track();
  track.name = builder_->Text(note.name);
  track.os_id = line.id;
  track.device = whose.device;
  if (!whose.device_name.empty()) track.device_name = builder_->Text(whose.device_name);
  track.main = note.main;
  track.ours = note.ours;
  if (!Shown(note.begin_ns) || !Shown(note.end_ns)) return Status::Corrupt("a life without times");
  for (const auto& [at, layer] : note.base) {
    if (Shown(at)) builder.Base(at, LayerOf(layer));
  }
  Status status = TakeSpans(plane, line, &builder);
  builder.Finish(note.begin_ns, note.end_ns);
  return status;
}

Status OwnPlanes::TakeSpans(const xspace::Plane& plane, const xspace::Line& line,
                            trace::TrackBuilder* track) {
  Open open(track);
  Status status = xspace::ForEachEvent(line, [&](const xspace::Event& event) {
    int64_t begin = 0, end = 0;
    if (!TimesOf(line, event, &begin, &end)) return Status::Corrupt("a time that no clock shows");
    const xspace::EventMetadata what = plane.event_metadata(event.metadata_id);
    const xspace::NameNote note = xspace::NameNote::Of(what.note);
    if (note.kind == xspace::NameNote::kMemory) {
      const bool change = AllocatorEvent::Knows(what.name);
      track->Instant(begin, builder_->AddName({builder_->Text(change ? "[memory]" : what.name)}));
      return TakeMemory(plane, event, track);
    }
    open.EndUntil(begin);
    trace::Name name = {builder_->Text(what.name)};
    const bool operation = note.kind == static_cast<uint8_t>(trace::Kind::kOperation);
    if (operation) name.kind = trace::Kind::kOperation;
    name.layer = LayerOf(note.layer);
    name.waits = note.waits;
    name.found = note.found;
    name.crosses = note.crosses;
    const trace::NameId id = builder_->AddName(name);
    const SpanNote part = SpanNote::Of(event.note);
    part.goes_on ? track->GoOn(begin, id) : track->Begin(begin, id);
    if (part.waited_ns > 0) {
      track->GoesOnWith(begin - static_cast<int64_t>(part.waited_ns), part.inside);
    }
    cut_ += open.Begin(end) ? 0 : 1;
    return TakeStats(plane, event, name.layer != Layer::kNone, track);
  });
  open.EndUntil(INT64_MAX);
  return status;
}

Status OwnPlanes::TakeMemory(const xspace::Plane& plane, const xspace::Event& event,
                             trace::TrackBuilder* track) {
  xspace::MemoryNote writers = event.note;
  return xspace::ForEachEventStat(event.bytes, [&](const xspace::Stat& stat) {
    if (writers > 0) {
      --writers;
    } else {
      PutArg(builder_, plane, stat, track);
    }
    return Status();
  });
}

Status OwnPlanes::TakeSteps(const xspace::Plane& plane, const xspace::Line& line,
                            trace::ProcessId process) {
  return xspace::ForEachEvent(line, [&](const xspace::Event& event) {
    trace::Step step;
    if (!TimesOf(line, event, &step.begin_ns, &step.end_ns)) {
      return Status::Corrupt("a time that no clock shows");
    }
    const StepNote note = StepNote::Of(event.note);
    step.kind = builder_->Text(plane.event_metadata(event.metadata_id).name);
    step.level = std::min(note.level, trace::kMarksLevel);
    step.after_switch = note.after_switch;
    step.open = note.open;
    if (note.line > 0 && note.line <= lines_.size()) step.track = lines_[note.line - 1];
    const bool of_thread =
        step.track.valid() && builder_->track(step.track).track().kind == trace::TrackKind::kThread;
    if (!of_thread) step.track = trace::TrackId::None();
    if (!of_thread && step.open) return Status::Corrupt("an open step of no thread");
    Status status = xspace::ForEachEventStat(event.bytes, [&](const xspace::Stat& stat) {
      if (plane.stat_name(stat.metadata_id) == "step_num") {
        step.number = static_cast<int64_t>(stat.number);
      }
      return Status();
    });
    std::vector<trace::Step>& steps = builder_->process(process).steps;
    if (!steps.empty() && steps.back().end_ns > step.begin_ns) {
      return Status::Corrupt("a step that begins in the one before");
    }
    steps.push_back(step);
    return status;
  });
}

// The first of each of these keys is the writer's own, except in a plane that it passed on: the
// span has them otherwise. Of the writer's own is the correlation_id that is an unsigned integer,
// which no argument is.
Status OwnPlanes::TakeStats(const xspace::Plane& plane, const xspace::Event& event, bool layered,
                            trace::TrackBuilder* track) {
  const std::string_view device = builder_->trace().text(track->track().device_name);
  bool layer = layered && !device.starts_with("/device:");
  SpanNote note = SpanNote::Of(event.note);
  const int64_t begin = track->last_ns();
  return xspace::ForEachEventStat(event.bytes, [&](const xspace::Stat& stat) {
    const std::string_view key = plane.stat_name(stat.metadata_id);
    if (key == "layer" && std::exchange(layer, false)) return Status();
    if (key == "kernel_details" && std::exchange(note.details, false)) return Status();
    if (key == "tf_op" && std::exchange(note.op, false)) return Status();
    if (key == "_ct" && note.in_step) return Status();
    if (key == "_c" && std::exchange(note.in_step, false)) return Status();
    if (key != "correlation_id" || stat.type != xspace::Stat::Type::kUint64) {
      PutArg(builder_, plane, stat, track);
    } else if (track->track().kind == trace::TrackKind::kDevice) {
      track->FlowIn(begin, stat.number);
    } else {
      track->FlowOut(begin, stat.number);
    }
    return Status();
  });
}

}  // namespace crosscut::import
