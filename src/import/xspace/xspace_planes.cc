#include "src/import/xspace/xspace_planes.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "src/base/counted.h"
#include "src/import/xspace/xspace_memory.h"
#include "src/trace/lanes.h"

namespace crosscut::import {
namespace {

using trace::Kind;
using trace::Layer;
using xspace::Event;
using xspace::Line;
using xspace::Plane;
using xspace::Stat;

constexpr int64_t kFarthest = int64_t{1} << 61;  // ps and ns: sums of three still fit
constexpr size_t kMostLanes = 1024;

int64_t ToNs(int64_t timestamp_ns, int64_t offset_ps) {
  int64_t whole = offset_ps / 1000, rest = offset_ps % 1000;
  if (rest < 0) rest += 1000, --whole;
  return timestamp_ns + whole + (rest >= 500);
}

// Where another kind of devices has the number that a plane says.
constexpr int64_t kFirstOther = 1'000'000;

// A number that is no integer of 64 bits with a sign.
template <class Number>
trace::Arg WrittenOut(trace::Builder* builder, trace::StringId key, Number number) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  const trace::StringId id = builder->Text({text, static_cast<size_t>(end - text)});
  return {key, /*is_text=*/true, id.value, /*is_json=*/true};
}

}  // namespace

void PutArg(trace::Builder* builder, const Plane& plane, const Stat& stat,
            trace::TrackBuilder* track) {
  const trace::StringId id = builder->Text(plane.stat_name(stat.metadata_id));
  const auto number = static_cast<int64_t>(stat.number);
  switch (stat.type) {
    case Stat::Type::kNone:
    case Stat::Type::kBytes: return;  // HLO protos and the like: nobody reads them here
    case Stat::Type::kText: return track->ArgText(id, builder->Text(stat.text));
    case Stat::Type::kRef: return track->ArgText(id, builder->Text(plane.stat_name(number)));
    case Stat::Type::kDouble: return track->Add(WrittenOut(builder, id, stat.real));
    case Stat::Type::kUint64:
      if (number < 0) return track->Add(WrittenOut(builder, id, stat.number));
      [[fallthrough]];
    default: track->Arg(id, number);
  }
}

int64_t DeviceNumbers::Of(std::string_view plane) {
  const auto known = numbers_.find(plane);
  if (known != numbers_.end()) return known->second;
  const std::optional<int64_t> ordinal = OrdinalOf(plane);
  const std::string kind(ordinal ? plane.substr(0, plane.rfind(':')) : plane);
  int64_t number = ordinal.value_or(0), next = ordinal ? kFirstOther : 1;
  for (auto at = kinds_.find(number); at != kinds_.end() && (!ordinal || at->second != kind);
       at = kinds_.find(number)) {
    number = next++;
  }
  kinds_[number] = kind;
  return numbers_[std::string(plane)] = number;
}

void DeviceNumbers::Set(std::string_view plane, int64_t number) {
  kinds_[number] = plane;
  numbers_[std::string(plane)] = number;
}

// Planes that say a number get it, whatever stands before them.
Status XSpacePlanes::Take(std::string_view bytes) {
  for (const bool says : {true, false}) {
    (void)xspace::ForEachPlane(bytes, [&](const Plane& plane) {
      if (IsDevicePlane(plane.name) && OrdinalOf(plane.name).has_value() == says) {
        placement_.devices->Of(plane.name);
      }
      return Status();
    });
  }
  Status status = xspace::ForEachPlane(bytes, [&](const Plane& plane) { return TakePlane(plane); });
  Finish();
  return status;
}

void XSpacePlanes::Finish() {
  cut_steps_ = PutSteps(builder_, std::move(steps_));
  if (placement_.tracks != nullptr &&
      allocating_ != nullptr) {  // until the next part of the profile
    allocating_->Instant(end_ns_, builder_->AddName({builder_->Text("[memory unseen]")}));
  }
}

std::string XSpacePlanes::LeftOut() const {
  std::string words;
  const auto say = [&words](const std::string& what) {
    words += (words.empty() ? "" : "; ") + what;
  };
  const auto count = [&](uint64_t number, const char* what) {
    if (number > 0) say(base::Counted(number, what));
  };
  if (far_lines_ > 0 || far_events_ > 0) {
    say(base::Counted(far_lines_, "{line|lines} and ") +
        base::Counted(far_events_,
                      "{event|events} state times that no clock shows: they are left out"));
  }
  count(far_edges_,
        "{edge|edges} of the profile {is a time|are times} that no clock shows: its window is that "
        "of its events there");
  count(sums_, "{event is a sum|events are sums} without a time: {it is|they are} left out");
  count(untold_,
        "{event of an allocator does|events of allocators do} not say how many bytes: the memory "
        "tables are without {it|them}");
  count(cut_off_,
        "{event overlaps|events overlap} more others than there is room for: {it is|they are} cut "
        "off");
  count(cut_steps_, "{step is|steps are} not over where the next begins: {it ends|they end} there");
  return words;
}

Status XSpacePlanes::TakePlane(const Plane& plane) {
  Status status = plane.ForEachStat([&](const Stat& stat) {
    const std::string_view name = plane.stat_name(stat.metadata_id);
    if (name == "profile_start_time" || name == "profile_stop_time") {
      const bool shown = stat.number < static_cast<uint64_t>(kFarthest);
      far_edges_ += shown ? 0 : 1;
      if (shown)
        (name == "profile_start_time" ? start_ns_ : stop_ns_) = static_cast<int64_t>(stat.number);
    }
    if (name == "process_id") pid_ = static_cast<int64_t>(stat.number);
    return Status();
  });
  if (!status.ok()) return status;
  std::vector<Line> lines;
  status = plane.ForEachLine([&](const Line& line) {
    lines.push_back(line);
    return Status();
  });
  return status.ok() ? TakeLines(plane, lines) : status;
}

Status XSpacePlanes::TakeLines(const Plane& plane, const std::vector<Line>& lines) {
  const bool device = IsDevicePlane(plane.name);
  const bool streams =
      std::any_of(lines.begin(), lines.end(), [](const Line& line) { return IsStream(line.name); });
  for (size_t i = 0; i < lines.size(); ++i) {
    if (device && IsDerivedLine(lines[i].id, lines[i].name, streams)) continue;
    const Status status = TakeLine(plane, lines[i], device);
    if (!status.ok()) return status.At("line " + std::to_string(i));
  }
  return {};
}

Status XSpacePlanes::TakeLine(const Plane& plane, const Line& line, bool device) {
  std::vector<Timed> events;
  if (line.timestamp_ns <= -kFarthest || line.timestamp_ns >= kFarthest) {
    ++far_lines_;
    return Status();
  }
  const bool counts = line.timestamp_ns < placement_.counts_from / 2;
  const int64_t base =
      line.timestamp_ns + (counts ? placement_.counts_from : 0) - placement_.offset_ns;
  Status status = xspace::ForEachEvent(line, [&](const Event& event) {
    const bool timed = !event.aggregated && event.duration_ps >= 0 &&
                       event.duration_ps < kFarthest && event.offset_ps > -kFarthest &&
                       event.offset_ps < kFarthest;
    if (!timed) {
      ++(event.aggregated ? sums_ : far_events_);
      return Status();
    }
    const std::string_view name = device ? "" : plane.event_metadata(event.metadata_id).name;
    if (IsBookkeeping(name)) return Status();
    const bool allocation = AllocatorEvent::Knows(name);
    const int64_t lasts_ps = allocation ? 0 : event.duration_ps;
    events.push_back(
        {ToNs(base, event.offset_ps), ToNs(base, event.offset_ps + lasts_ps), event, allocation});
    return Status();
  });
  std::stable_sort(events.begin(), events.end(), [](const Timed& a, const Timed& b) {
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
  });
  // Events that overlap without nesting stand on lanes of their own; on a device's line, all that
  // overlap do then.
  apart_ = device && OverlapsWithoutNesting(events);
  std::vector<Lane> lanes;
  for (const Timed& timed : events) {
    Lane* lane = LaneFor(&lanes, timed, plane, line);
    Status put = timed.allocation ? PutAllocation(plane, timed, lane->track)
                                  : Put(plane, timed, device, lane);
    if (!put.ok()) return put;
  }
  for (Lane& lane : lanes) {
    while (!lane.ends.empty()) EndInnermost(&lane);
  }
  return status;
}

bool XSpacePlanes::OverlapsWithoutNesting(const std::vector<Timed>& events) {
  trace::Crossing crossing;
  for (const Timed& timed : events) crossing.Add(timed.begin_ns, timed.end_ns);
  return crossing.any();
}

void XSpacePlanes::EndInnermost(Lane* lane) {
  lane->track->End(lane->ends.back());
  lane->ends.pop_back();
}

XSpacePlanes::Lane* XSpacePlanes::LaneFor(std::vector<Lane>* lanes, const Timed& timed,
                                          const Plane& plane, const Line& line) {
  for (Lane& lane : *lanes) {
    while (!lane.ends.empty() && lane.ends.back() <= timed.begin_ns) EndInnermost(&lane);
    if (lane.ends.empty() || (!apart_ && timed.end_ns <= lane.ends.back())) return &lane;
  }
  if (lanes->size() == kMostLanes) {  // no real queue is like this: cut what lies on the last
    Lane& last = lanes->back();
    cut_off_ += static_cast<int64_t>(last.ends.size());
    for (int64_t& end : last.ends) end = std::min(end, timed.begin_ns);
    while (!last.ends.empty()) EndInnermost(&last);
    return &last;
  }
  trace::TrackBuilder* track = TrackFor(plane, line, lanes->size());
  lanes->push_back({track, placement_.python_lines.contains(line.id), {}});
  return &lanes->back();
}

trace::TrackBuilder* XSpacePlanes::TrackFor(const Plane& plane, const Line& line, size_t lane) {
  const bool device = IsDevicePlane(plane.name);
  trace::TrackBuilder* known = nullptr;
  trace::TrackBuilder** slot = &known;
  if (!device && placement_.tracks != nullptr) {
    slot = &(*placement_.tracks)[{std::string(plane.name), line.id, lane}];
  }
  if (*slot != nullptr) return *slot;
  *slot =
      &builder_->AddTrack(process_, device ? trace::TrackKind::kDevice : trace::TrackKind::kThread);
  trace::Track& track = (*slot)->track();
  std::string name(line.display_name.empty() ? line.name : line.display_name);
  if (lane > 0) name += " (" + std::to_string(lane + 1) + ")";
  track.name = builder_->Text(name);
  track.os_id = line.display_id != 0 ? line.display_id : line.id;
  const auto python = placement_.python_lines.find(line.id);
  if (!device && python != placement_.python_lines.end()) track.os_id = python->second;
  track.device = device ? placement_.devices->Of(plane.name) : -1;
  if (device) track.device_name = builder_->Text(plane.name);
  return *slot;
}

Status XSpacePlanes::Put(const Plane& plane, const Timed& timed, bool device, Lane* lane) {
  const xspace::EventMetadata metadata = plane.event_metadata(timed.event.metadata_id);
  const bool shown = device && !metadata.display_name.empty();
  const std::string_view text = shown ? metadata.display_name : metadata.name;
  Layer layer = device ? Layer::kDevice : HostLayer(text);
  if (!device && lane->python && layer == Layer::kFramework) layer = Layer::kNone;
  lane->track->Begin(timed.begin_ns, builder_->AddName({builder_->Text(text), Kind::kSpan, layer,
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
  if (placement_.steps && taken.root && taken.step >= 0) {
    const trace::NameId step =
        builder_->AddName({builder_->Text(text), Kind::kStep, Layer::kNone, false, {}});
    steps_.push_back({timed.begin_ns, timed.end_ns, taken.step, lane->track->id(), step});
  }
  return status;
}

Status XSpacePlanes::PutAllocation(const Plane& plane, const Timed& timed,
                                   trace::TrackBuilder* track) {
  const xspace::EventMetadata metadata = plane.event_metadata(timed.event.metadata_id);
  const auto for_each_stat = [&](auto&& take) {
    const auto each = [&](const Stat& stat) {
      take(stat);
      return Status();
    };
    Status status = xspace::ForEachMetadataStat(metadata.bytes, each);
    return status.ok() ? xspace::ForEachEventStat(timed.event.bytes, each) : status;
  };
  AllocatorEvent event(metadata.name);
  Status status = for_each_stat([&](const Stat& stat) { event.Take(plane, stat); });
  untold_ += event.told() ? 0 : 1;
  trace::Name name = {builder_->Text(event.told() ? "[memory]" : metadata.name)};
  track->Instant(timed.begin_ns, builder_->AddName(name));
  begin_ns_ = std::min(begin_ns_, timed.begin_ns);
  end_ns_ = std::max(end_ns_, timed.begin_ns);
  (void)for_each_stat([&](const Stat& stat) { PutArg(builder_, plane, stat, track); });
  if (event.told()) {
    event.Tell(builder_, track);  // last, and so what counts
    allocating_ = track;
  }
  return status;
}

void XSpacePlanes::TakeStat(const Stat& stat, Taken* taken) {
  trace::TrackBuilder* track = taken->track;
  PutArg(builder_, taken->plane, stat, track);
  const auto number = static_cast<int64_t>(stat.number);
  const bool is_number =
      stat.type == Stat::Type::kInt64 || (stat.type == Stat::Type::kUint64 && number >= 0);
  if (!is_number) return;
  const std::string_view key = taken->plane.stat_name(stat.metadata_id);
  if (key == "_r") taken->root = number >= 1;
  if (key == "step_num") taken->step = number;
  if (key != "correlation_id" || number == 0) return;
  // Of launches and what they launched; a space of their own.
  const uint64_t flow = stat.number ^ placement_.flow_space;
  if (taken->device) {
    track->FlowIn(taken->timed.begin_ns, flow);
  } else {
    track->FlowOut(taken->timed.begin_ns, flow);
  }
}

}  // namespace crosscut::import
