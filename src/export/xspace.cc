// An XSpace that TensorBoard, XProf and whatever reads TensorFlow's profiles open. docs/xspace.md
// says what becomes what, and why the planes are called as they are.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "src/base/counted.h"
#include "src/base/file.h"
#include "src/export/device_kind.h"
#include "src/export/exporter.h"
#include "src/export/identities.h"
#include "src/export/kernel_shape.h"
#include "src/export/launches.h"
#include "src/export/left_out.h"
#include "src/export/passed_profiles.h"
#include "src/export/told_args.h"
#include "src/trace/memory_marks.h"
#include "src/trace/spans_around.h"
#include "src/trace/whole_spans.h"
#include "src/xspace/reader.h"
#include "src/xspace/writer.h"

namespace crosscut::exporting {
namespace {

using trace::Layer;
using trace::SpanIndex;
using trace::Track;
using trace::TrackKind;
using xspace::LineWriter;
using xspace::PlaneWriter;

// XProf keeps 0 to 7 for the GPUs of its own profilers, and shows planes of one id as one group.
constexpr int64_t kFirstDevicePlane = 100, kFirstHostPlaneBeside = 300;

class XSpaceWriter {
 public:
  // `beside`: the planes join those of a profile that TensorFlow takes itself.
  XSpaceWriter(const trace::Trace& trace, bool beside)
      : trace_(trace), tracks_(trace), profiles_(trace, /*none=*/beside), beside_(beside) {
    names_ = profiles_.names();
    uint64_t correlations = profiles_.last_correlation();
    for (const Track& track : trace.tracks) {
      if (!profiles_.Has(track)) NotePeaks(track);
      if (IsFromPlane(track)) names_.insert(std::string(trace.text(track.device_name)));
    }
    trace::SpansAround operators(trace, [&](trace::TrackId track, SpanIndex span) {
      const trace::Name& name = trace.name(trace.tracks[track.value].spans.name[span]);
      return name.layer == Layer::kFramework || name.layer == Layer::kComm || name.scope();
    });
    const Launches launches(trace);
    for (size_t i = 0; i < trace.flows.size(); ++i) {
      if (!launches.Is(i)) continue;
      const trace::Flow& flow = trace.flows[i];
      const uint64_t from = wholes_.Key(flow.from_track.value, flow.from);
      const auto [at, added] = correlation_.try_emplace(from, correlations + 1);
      correlations += added ? 1 : 0;
      const uint64_t correlation = at->second;  // the map may move it
      correlation_[wholes_.Key(flow.to_track.value, flow.to)] = correlation;
      operators_[wholes_.Key(flow.to_track.value, flow.to)] =
          OperatorAround(trace, &operators, flow.from_track, flow.from);
    }
  }

  Result<Gaps> Write(Sink* sink) {
    for (uint32_t i = 0; i < trace_.processes.size(); ++i) {
      if (Status status = PutProcess(i); !status.ok()) return status;
    }
    if (!trace_.processes.empty()) space_.AddHostname(trace_.text(trace_.processes[0].name));
    Gaps gaps = GapsOf(trace_, beside_ ? kShown : kShown | kNoted, &identities_, &profiles_);
    if (far_ > 0) {
      gaps.of_file.push_back(base::Counted(
          far_,
          "{time is|times are} more than 106 days, as far as picoseconds reach: {it ends|they "
          "end} there."));
    }
    if (const std::string gap = profiles_.Gap(); !gap.empty()) gaps.of_file.push_back(gap);
    for (const std::string& gap : gaps.all()) space_.AddWarning(gap);
    Result<std::string> bytes = space_.Finish();
    if (!bytes.ok()) return bytes.status();
    if (Status status = sink->Write(*bytes); !status.ok()) return status;
    return gaps;
  }

 private:
  // What every reader finds, and what notes tell Crosscut alone.
  static constexpr uint32_t kShown =
                                kSpans | kWork | kTimes | kArguments | kSteps | kLaunches | kGaps,
                            kNoted = kMemory | kPauses | kLayers;

  int64_t Ps(int64_t ns) {
    constexpr int64_t kMost = INT64_MAX / 1000;
    far_ += ns > kMost || ns < -kMost ? 1 : 0;
    return std::clamp(ns, -kMost, kMost) * 1000;
  }

  // Wall-clock time, as every reader of XSpaces expects.
  int64_t Realtime(int64_t ns) const { return ns + trace_.realtime_offset_ns; }

  Status PutProcess(uint32_t index) {
    const trace::Process& process = trace_.processes[index];
    PlaneWriter& host =
        space_.AddPlane(beside_ ? kFirstHostPlaneBeside + index : index, HostPlane(index));
    if (Status status = PassOn(index, &host); !status.ok()) return status;
    host.TextStat(host.StatName("process_name"), trace_.text(process.name));
    host.Int64Stat(host.StatName("process_id"), process.pid);
    if (!beside_) host.Note(NoteOf(index));
    PutSteps(index, &host);
    std::map<std::tuple<int64_t, bool, uint32_t>, PlaneWriter*> devices;  // GPUs, and all else
    for (const uint32_t i : tracks_.of({index})) {
      const Track& track = trace_.tracks[i];
      if (profiles_.Has(track)) continue;
      if (track.kind != TrackKind::kDevice) {
        PutTrack(i, process, &host);
        continue;
      }
      const bool gpu = !beside_ && !IsFromPlane(track) && IsGpuWork(trace_, track);
      PlaneWriter*& plane = devices[{track.device, gpu, track.device_name.value}];
      if (plane == nullptr) {
        plane = IsFromPlane(track) ? AddSame(index, track) : AddDevice(process, track.device, gpu);
        if (!beside_) {
          xspace::PlaneNote note;
          note.process = index;
          note.device = track.device;
          note.device_name = trace_.text(track.device_name);
          plane->Note(note);
        }
      }
      PutTrack(i, process, plane, gpu);
    }
    return {};
  }

  // The planes that sources of the process collected, a host's in its own.
  Status PassOn(uint32_t process, PlaneWriter* host) {
    std::map<std::string, std::string> names;  // by that which the plane had
    return profiles_.ForEachPlane({process}, [&](const PassedPlane& passed) {
      PlaneWriter* to = host;
      if (passed.plane.name != "/host:CPU") {
        const auto [name, added] = names.try_emplace(std::string(passed.plane.name));
        if (added) name->second = UnusedName(process, name->first);
        to = &space_.AddPlane(passed.plane.id, name->second);
        to->Note(profiles_.NoteOf(passed));
      }
      return to->PassOn(passed.plane,
                        [&](const xspace::Line& line) { return profiles_.EditOf(passed, line); });
    });
  }

  // Whether a plugin or a file has handed it over in a plane, which goes out under its own name.
  // Those that join TensorFlow's profile are not called like any of its own.
  bool IsFromPlane(const Track& track) const {
    return !beside_ && track.kind == TrackKind::kDevice &&
           trace_.text(track.device_name).starts_with("/device:");
  }

  // The device that another process has under the same name is another plane.
  PlaneWriter* AddSame(uint32_t process, const Track& track) {
    return &space_.AddPlane(NextId(), UnusedName(process, trace_.text(track.device_name)));
  }

  // `name`, which is in names_, or where another process has it, with this one's pid.
  std::string UnusedName(uint32_t process, std::string_view name) {
    const std::string pid = "-" + std::to_string(identities_.pid(process));
    std::string unused(name);
    while (!same_.insert(unused).second || (unused != name && !names_.insert(unused).second)) {
      unused += pid;
    }
    return unused;
  }

  int64_t NextId() {
    while (profiles_.ids().contains(kFirstDevicePlane + next_device_)) ++next_device_;
    return kFirstDevicePlane + next_device_++;
  }

  // What XProf's tools look for has the names of its own profilers; planes of one name are merged.
  PlaneWriter* AddDevice(const trace::Process& process, int64_t number, bool gpu) {
    if (!gpu) {
      const int64_t id = NextId();
      std::string name = "/device:CUSTOM:crosscut:" + std::to_string(id);
      while (!names_.insert(name).second) name += "+";
      return &space_.AddPlane(id, name);
    }
    const int64_t wanted = std::max<int64_t>(0, number);
    int64_t& ordinal = next_gpu_.try_emplace(wanted, wanted).first->second;
    while (!names_.insert("/device:GPU:" + std::to_string(ordinal)).second) ++ordinal;
    PlaneWriter& plane = space_.AddPlane(ordinal, "/device:GPU:" + std::to_string(ordinal));
    for (const DeviceProperty& property : PropertiesOf(trace_, process, number)) {
      const int64_t id = plane.StatName(property.name);
      property.text.empty() ? plane.Int64Stat(id, property.number)
                            : plane.TextStat(id, property.text);
    }
    return &plane;
  }

  // The operator that is open where work is launched.
  static trace::NameId OperatorAround(const trace::Trace& trace, trace::SpansAround* operators,
                                      trace::TrackId track, SpanIndex span) {
    const trace::Spans& spans = trace.tracks[track.value].spans;
    const SpanIndex found = operators->Of(track, spans.parent[span]);
    return found == trace::kNoSpan ? trace::NameId() : spans.name[found];
  }

  // Planes of one name are merged, so each is called otherwise.
  std::string HostPlane(uint32_t index) const {
    std::string name = beside_ ? "/host:CPU-crosscut" : "/host:CPU";
    if (index > 0) name += "-" + std::to_string(identities_.pid(index));
    return name;
  }

  xspace::PlaneNote NoteOf(uint32_t index) const {
    const trace::Process& process = trace_.processes[index];
    xspace::PlaneNote note;
    note.process = index;
    note.key = trace_.text(process.key);
    if (note.key.empty()) note.key = "process";
    note.name = trace_.text(process.name);
    note.why_incomplete = trace_.text(process.why_incomplete);
    note.pid = process.pid;
    note.parent_pid = process.parent_pid;
    if (process.parent.valid()) note.parent = process.parent.value;
    note.start_ns = Realtime(process.start_ns);
    note.end_ns = Realtime(process.end_ns);
    note.complete = process.complete;
    for (const trace::Interval& pause : process.paused) {
      note.paused.emplace_back(Realtime(pause.begin_ns), Realtime(pause.end_ns));
    }
    return note;
  }

  xspace::LineNote NoteOf(const Track& track, uint32_t index) const {
    const trace::TrackId lead = trace_.processes[track.process.value].lead;
    xspace::LineNote note;
    note.role = track.kind == TrackKind::kDevice  ? xspace::LineNote::kDevice
                : track.kind == TrackKind::kAsync ? xspace::LineNote::kAsync
                                                  : xspace::LineNote::kThread;
    note.main = track.main;
    note.ours = track.ours;
    note.lead = lead.valid() && lead.value == index;
    note.name = trace_.text(track.name);
    note.begin_ns = Realtime(track.begin_ns);
    note.end_ns = Realtime(track.end_ns);
    for (size_t i = 0; i < track.base.size(); ++i) {
      note.base.emplace_back(Realtime(track.base_at_ns[i]), static_cast<int64_t>(track.base[i]));
    }
    return note;
  }

  uint64_t NoteOf(const trace::Name& name) const {
    if (beside_) return 0;
    const trace::Kind kind = name.scope() ? trace::Kind::kOperation : name.kind;
    return xspace::NameNote{static_cast<uint8_t>(kind), static_cast<uint8_t>(name.layer),
                            name.waits, name.found, name.crosses}
        .Packed();
  }

  void PutSteps(uint32_t index, PlaneWriter* host) {
    const trace::Process& process = trace_.processes[index];
    if (process.steps.empty()) return;
    std::map<uint32_t, uint32_t> lines;  // numbers, by track
    for (const uint32_t i : tracks_.of({index})) {
      const Track& track = trace_.tracks[i];
      if (track.kind != TrackKind::kDevice && !profiles_.Has(track))
        lines.emplace(i, lines.size() + 1);
    }
    LineWriter& line = host->AddLine(kStepsLine, "steps", Realtime(process.start_ns));
    xspace::LineNote note;
    note.role = xspace::LineNote::kSteps;
    if (!beside_) line.Note(note);
    const int64_t root = host->StatName("_r"), number = host->StatName("step_num");
    const bool planned = trace::HasStepPlan(process);
    const int64_t level = planned ? host->StatName("level") : 0;
    for (const trace::Step& step : process.steps) {
      line.Event(host->EventName(trace_.text(step.kind)), Ps(step.begin_ns - process.start_ns),
                 Ps(step.end_ns - step.begin_ns));
      if (!beside_) {  // theirs are the roots
        line.Int64Stat(root, 1);
        Connect("_p", StepId(index, step), host, &line);
      }
      line.Int64Stat(number, step.number);
      if (planned) line.TextStat(level, trace::StepLevelName(step.level));
      if (beside_) continue;
      const auto begun = lines.find(step.track.value);
      line.Note(xspace::StepNote{step.level, step.after_switch, step.open,
                                 begun == lines.end() ? 0 : begun->second}
                    .Packed());
    }
  }

  // XProf takes for a step's what its root leads to: by nesting, which ends at the edge of a line,
  // or from a producer (_pt, _p) to its consumers (_ct, _c) of the same type and number.
  static void Connect(const std::string& role, int64_t number, PlaneWriter* plane,
                      LineWriter* line) {
    constexpr int64_t kGeneric = 0;
    line->Int64Stat(plane->StatName(role + "t"), kGeneric);
    line->Int64Stat(plane->StatName(role), number);
  }
  // Far from the numbers of others.
  int64_t StepId(uint32_t process, const trace::Step& step) const {
    const std::vector<trace::Step>& steps = trace_.processes[process].steps;
    return int64_t{1} << 56 | int64_t{process} << 32 | (&step - steps.data());
  }
  // Of spans in their order: the step of its thread in which one lies, and that around it does not;
  // null where there is none. XProf counts what lies in a span where it counts the span.
  class StepsOfTrack {
   public:
    StepsOfTrack(const trace::Process& process, uint32_t track, const trace::WholeSpans& wholes)
        : wholes_(wholes),
          next_(process.steps.begin()),
          end_(process.steps.end()),
          track_(track),
          lead_(process.lead.valid() && process.lead.value == track) {}
    const trace::Step* Of(const trace::Spans& spans, SpanIndex span) {
      const int64_t begin = spans.begin_ns[span];
      while (next_ != end_ && (next_->end_ns <= begin || !Began(*next_))) ++next_;
      const auto lies_in = [&](int64_t begin_ns, int64_t end_ns, SpanIndex it) {
        return spans.begin_ns[it] >= begin_ns && wholes_.end_ns(it) <= end_ns;
      };
      if (next_ == end_ || !lies_in(next_->begin_ns, next_->end_ns, span)) return nullptr;
      if (spans.parent[span] == trace::kNoSpan) return &*next_;
      const SpanIndex parent = wholes_.first(spans.parent[span]);
      const bool around = lies_in(next_->begin_ns, next_->end_ns, parent) &&
                          wholes_.end_ns(parent) >= wholes_.end_ns(span);
      return around ? nullptr : &*next_;
    }

   private:
    bool Began(const trace::Step& step) const {
      return step.track.valid() ? step.track.value == track_ : lead_;
    }
    const trace::WholeSpans& wholes_;
    std::vector<trace::Step>::const_iterator next_, end_;
    uint32_t track_;
    bool lead_;
  };

  void PutTrack(uint32_t index, const trace::Process& process, PlaneWriter* plane,
                bool gpu = false) {
    const Track& track = trace_.tracks[index];
    const int64_t id = identities_.tid(index);
    std::string name(trace_.text(track.name));
    if (track.main) name = name.empty() ? "main" : name + " (main)";
    int64_t start = process.start_ns;
    if (track.spans.size() > 0) start = std::min(start, track.spans.begin_ns.front());
    if (!track.instants.at_ns.empty()) start = std::min(start, track.instants.at_ns.front());
    LineWriter& line = plane->AddLine(id, name, Realtime(start));
    if (!beside_) line.Note(NoteOf(track, index));
    size_t continued = 0;
    trace::EndedInside ended(track.spans);
    const int64_t layer = plane->StatName("layer");
    const trace::WholeSpans& wholes = wholes_[index];
    StepsOfTrack steps(process, index, wholes);
    uint32_t mark = 0;
    for (SpanIndex s = 0; s < track.spans.size(); ++s) {
      for (; mark < track.instants.at_ns.size() &&
             track.instants.at_ns[mark] < track.spans.begin_ns[s];
           ++mark) {
        PutMemory(index, mark, start, plane, &line);
      }
      xspace::SpanNote note;
      if (continued < track.spans.continued.size() && track.spans.continued[continued] == s) {
        NoteWait(track.spans, continued++, &ended, &note);
      }
      if (wholes.first(s) != s) continue;
      const trace::Step* const step = beside_ ? nullptr : steps.Of(track.spans, s);
      const trace::Name& what = trace_.name(track.spans.name[s]);
      const int64_t event = event_names_.Of(plane, track.spans.name[s].value, [&] {
        return plane->EventName(trace_.text(what.text), NoteOf(what));
      });
      line.Event(event, Ps(track.spans.begin_ns[s] - start),
                 Ps(wholes.end_ns(s) - track.spans.begin_ns[s]));
      if (what.layer != Layer::kNone && !IsFromPlane(track)) {
        line.RefStat(layer, layers_.Of(plane, static_cast<uint32_t>(what.layer), [&] {
          return plane->StatName(trace::LayerName(what.layer));
        }));
      }
      if (const auto at = correlation_.find(wholes_.Key(index, s)); at != correlation_.end()) {
        // An argument of that name is no unsigned integer: PutArg.
        line.Uint64Stat(plane->StatName("correlation_id"), at->second);
      }
      if (gpu) PutKernel(index, s, plane, &line, &note);
      note.in_step = step != nullptr;
      if (note.in_step) Connect("_c", StepId(track.process.value, *step), plane, &line);
      if (note.Packed() != 0 && !beside_) line.Note(note.Packed());
      ForEachTold(track.args.of(s), [&](const trace::Arg& arg) { PutArg(arg, plane, &line); });
    }
    for (; mark < track.instants.at_ns.size(); ++mark) PutMemory(index, mark, start, plane, &line);
  }

  void NotePeaks(const Track& track) {
    for (uint32_t i = 0; i < track.instants.at_ns.size(); ++i) {
      if (beside_ || !marks_.IsChange(track.instants.name[i])) continue;
      const trace::MemoryMark mark = marks_.Read(track.instant_args, i);
      int64_t& peak = peaks_[{track.process.value, marks_.DeviceText(mark)}];
      peak = std::max(peak, mark.total.value_or(0));
    }
  }

  // As TensorFlow's allocators tell it, for XProf's memory profile; then the mark's own arguments.
  void PutMemory(uint32_t index, uint32_t i, int64_t start, PlaneWriter* plane, LineWriter* line) {
    const Track& track = trace_.tracks[index];
    const bool unseen = marks_.IsUnseen(track.instants.name[i]);
    if (beside_ || (!unseen && !marks_.IsChange(track.instants.name[i]))) return;
    xspace::NameNote kind;
    kind.kind = xspace::NameNote::kMemory;
    const auto event = [&](std::string_view name) {
      line->Event(plane->EventName(name, kind.Packed()), Ps(track.instants.at_ns[i] - start), 0);
    };
    if (unseen) return event(trace_.name_text(track.instants.name[i]));
    const trace::MemoryMark mark = marks_.Read(track.instant_args, i);
    const int64_t bytes = mark.bytes.value_or(0),
                  size = bytes < 0 ? -std::max(bytes, -INT64_MAX) : bytes;
    event(bytes < 0 ? "MemoryDeallocation" : "MemoryAllocation");
    const std::string device = marks_.DeviceText(mark);
    line->TextStat(plane->StatName("allocator_name"), device);
    const int64_t total = mark.total.value_or(0);
    const std::pair<const char*, int64_t> numbers[] = {
        {"bytes_allocated", total},
        {"bytes_available", total >= 0 ? std::max(mark.reserved.value_or(0), total) - total : 0},
        {"peak_bytes_in_use", peaks_[{track.process.value, device}]},
        {"requested_bytes", size},
        {"allocation_bytes", size},
        {"addr", mark.address}};
    for (const auto& [key, value] : numbers) line->Int64Stat(plane->StatName(key), value);
    line->Note(1 + std::size(numbers));
    ForEachTold(track.instant_args.of(i), [&](const trace::Arg& arg) { PutArg(arg, plane, line); });
  }

  static void NoteWait(const trace::Spans& spans, size_t continued, trace::EndedInside* ended,
                       xspace::SpanNote* note) {
    const SpanIndex part = spans.parts_before[continued];
    const int64_t waited = spans.begin_ns[spans.continued[continued]] - spans.end_ns[part];
    const uint32_t inside = ended->Of(part);
    note->goes_on = true;
    if (inside > UINT8_MAX || waited >= int64_t{1} << (63 - xspace::SpanNote::kWaitedAt)) return;
    note->waited_ns = static_cast<uint64_t>(waited);
    note->inside = static_cast<uint8_t>(inside);
  }

  void PutKernel(uint32_t track, SpanIndex span, PlaneWriter* plane, LineWriter* line,
                 xspace::SpanNote* note) {
    const std::string details =
        KernelDetails(KernelShapeOf(trace_, trace_.tracks[track].args.of(span)));
    note->details = !details.empty();
    if (note->details) line->TextStat(plane->StatName("kernel_details"), details);
    const auto op = operators_.find(wholes_.Key(track, span));
    if (op == operators_.end() || !op->second.valid()) return;
    note->op = true;
    line->TextStat(plane->StatName("tf_op"), trace_.name_text(op->second));
  }

  void PutArg(const trace::Arg& arg, PlaneWriter* plane, LineWriter* line) {
    const std::string_view key = trace_.text(arg.key);
    const int64_t id = keys_.Of(plane, arg.key.value, [&] { return plane->StatName(key); });
    double real = 0;
    if (trace_.RealOf(arg, &real)) {
      line->DoubleStat(id, real);
    } else if (arg.is_text) {
      line->TextStat(id, trace_.text(arg.text()));
    } else {
      line->Int64Stat(id, arg.value);
    }
  }

  // What the plane at hand calls each of the trace's names: it is asked once.
  class IdsInPlane {
   public:
    template <class Ask>
    int64_t Of(const PlaneWriter* plane, uint32_t name, Ask ask) {
      if (name >= known_.size()) known_.resize(name + 1, {nullptr, 0});
      auto& [of, id] = known_[name];
      if (of != plane) id = ask();
      of = plane;
      return id;
    }

   private:
    std::vector<std::pair<const PlaneWriter*, int64_t>> known_;
  };

  static constexpr int64_t kStepsLine = 1'000'000'000;  // no thread has it: pid_max is below

  const trace::Trace& trace_;
  const trace::TracksByProcess tracks_;
  const Identities identities_{trace_};
  PassedProfiles profiles_;
  const bool beside_;
  const trace::MemoryMarks marks_{trace_};
  std::map<std::pair<uint32_t, std::string>, int64_t> peaks_;  // by process and device
  const trace::WholeSpansByTrack wholes_{trace_};
  xspace::SpaceWriter space_;
  IdsInPlane event_names_, layers_, keys_;
  std::unordered_map<uint64_t, uint64_t> correlation_;     // launches and what they launched
  std::unordered_map<uint64_t, trace::NameId> operators_;  // of work: who asked for it
  std::map<int64_t, int64_t> next_gpu_;                    // by number: none before is free
  std::set<std::string> names_, same_;  // of planes of devices; those among them of AddSame()
  int64_t next_device_ = 0;
  uint64_t far_ = 0;  // times that are cut off
};

// The file that the trace comes from, as far as it is whole: it holds what no trace does, such as
// the programs that ran and the properties of devices.
Result<Gaps> WriteFileAgain(const trace::Trace& trace, Sink* sink) {
  const auto bytes = base::ReadSmallFile(trace.kept.path, xspace::kMaxSpaceBytes);
  if (!bytes.ok()) return bytes.status();
  const Status status = sink->Write(std::string_view(*bytes).substr(0, xspace::WholeBytes(*bytes)));
  if (!status.ok()) return status;
  return Gaps{trace.gaps, {}};
}

}  // namespace

Result<Gaps> WriteXSpace(const trace::Trace& trace, Sink* sink) {
  if (trace.kept.format == "xspace") return WriteFileAgain(trace, sink);
  return XSpaceWriter(trace, /*beside=*/false).Write(sink);
}

Result<Gaps> WriteXSpaceBeside(const trace::Trace& trace, Sink* sink) {
  return XSpaceWriter(trace, /*beside=*/true).Write(sink);
}

}  // namespace crosscut::exporting
