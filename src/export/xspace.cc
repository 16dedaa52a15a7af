// An XSpace that TensorBoard, XProf and whatever reads TensorFlow's profiles open. docs/xspace.md
// says what becomes what, and why the planes are called as they are.
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/export/exporter.h"
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
  XSpaceWriter(const trace::Trace& trace, bool beside) : trace_(trace), beside_(beside) {
    for (const trace::Flow& flow : trace.flows) {
      if (trace.tracks[flow.to_track.value].kind != TrackKind::kDevice) continue;
      if (flow.from == trace::kNoSpan || flow.to == trace::kNoSpan) continue;
      const uint64_t from = Key(flow.from_track.value, flow.from);
      const auto at = correlation_.try_emplace(from, correlation_.size() + 1).first;
      correlation_[Key(flow.to_track.value, flow.to)] = at->second;
    }
  }

  Status Write(Sink* sink) {
    for (uint32_t i = 0; i < trace_.processes.size(); ++i) PutProcess(i);
    if (!trace_.processes.empty()) space_.AddHostname(trace_.text(trace_.processes[0].name));
    for (const std::string& gap : trace_.gaps) space_.AddWarning(gap);
    Result<std::string> bytes = space_.Finish();
    if (!bytes.ok()) return bytes.status();
    return sink->Write(*bytes);
  }

 private:
  static uint64_t Key(uint32_t track, SpanIndex span) { return uint64_t{track} << 32 | span; }

  // Wall-clock time, as every reader of XSpaces expects.
  int64_t Realtime(int64_t ns) const { return ns + trace_.realtime_offset_ns; }

  void PutProcess(uint32_t index) {
    const trace::Process& process = trace_.processes[index];
    PlaneWriter& host =
        space_.AddPlane(beside_ ? kFirstHostPlaneBeside + index : index, HostPlane(index));
    host.TextStat(host.StatName("process_name"), trace_.text(process.name));
    host.Int64Stat(host.StatName("process_id"), process.pid);
    PutSteps(process, &host);
    std::map<int64_t, PlaneWriter*> devices;
    for (uint32_t i = 0; i < trace_.tracks.size(); ++i) {
      const Track& track = trace_.tracks[i];
      if (track.process.value != index) continue;
      if (track.kind != TrackKind::kDevice) {
        PutTrack(i, process, &host);
        continue;
      }
      PlaneWriter*& plane = devices[track.device];
      if (plane == nullptr) {
        const int64_t id = kFirstDevicePlane + next_device_++;
        plane = &space_.AddPlane(id, "/device:CUSTOM:crosscut:" + std::to_string(id));
      }
      PutTrack(i, process, plane);
    }
  }

  // Planes of one name are merged, so each is called otherwise.
  std::string HostPlane(uint32_t index) const {
    const int64_t pid = trace_.processes[index].pid;
    std::string name = beside_ ? "/host:CPU-crosscut" : "/host:CPU";
    if (index > 0) name += "-" + std::to_string(pid > 0 ? pid : index);
    return name;
  }

  void PutSteps(const trace::Process& process, PlaneWriter* host) {
    if (process.steps.empty()) return;
    LineWriter& line = host->AddLine(kStepsLine, "steps", Realtime(process.start_ns));
    const int64_t root = host->StatName("_r"), number = host->StatName("step_num");
    const bool planned = trace::HasStepPlan(process);
    const int64_t level = planned ? host->StatName("level") : 0;
    for (const trace::Step& step : process.steps) {
      line.Event(host->EventName(trace_.text(step.kind)), (step.begin_ns - process.start_ns) * 1000,
                 (step.end_ns - step.begin_ns) * 1000);
      if (!beside_) line.Int64Stat(root, 1);  // theirs are the roots
      line.Int64Stat(number, step.number);
      if (planned) line.TextStat(level, trace::StepLevelName(step.level));
    }
  }

  void PutTrack(uint32_t index, const trace::Process& process, PlaneWriter* plane) {
    const Track& track = trace_.tracks[index];
    const int64_t id = track.os_id != 0 ? track.os_id : kMoreLines + index;
    std::string name(trace_.text(track.name));
    if (track.main) name = name.empty() ? "main" : name + " (main)";
    const int64_t start = std::min(
        process.start_ns, track.spans.size() > 0 ? track.spans.begin_ns.front() : process.start_ns);
    LineWriter& line = plane->AddLine(id, name, Realtime(start));
    const int64_t layer = plane->StatName("layer");
    for (SpanIndex s = 0; s < track.spans.size(); ++s) {
      const trace::Name& what = trace_.name(track.spans.name[s]);
      line.Event(plane->EventName(trace_.text(what.text)), (track.spans.begin_ns[s] - start) * 1000,
                 (track.spans.end_ns[s] - track.spans.begin_ns[s]) * 1000);
      if (what.layer != Layer::kNone) {
        line.RefStat(layer, plane->StatName(trace::LayerName(what.layer)));
      }
      if (const auto at = correlation_.find(Key(index, s)); at != correlation_.end()) {
        line.Uint64Stat(plane->StatName("correlation_id"), at->second);
      }
      for (const trace::Arg& arg : track.args.of(s)) PutArg(arg, plane, &line);
    }
  }

  void PutArg(const trace::Arg& arg, PlaneWriter* plane, LineWriter* line) {
    const std::string_view key = trace_.text(arg.key);
    if (key == "correlation_id") return;  // ours stands there
    const int64_t id = plane->StatName(key);
    if (arg.is_text) {
      line->TextStat(id, trace_.text(arg.text()));
    } else {
      line->Int64Stat(id, arg.value);
    }
  }

  static constexpr int64_t kStepsLine = 1'000'000'000;  // no thread has it: pid_max is below
  static constexpr int64_t kMoreLines = 2'000'000'000;

  const trace::Trace& trace_;
  const bool beside_;
  xspace::SpaceWriter space_;
  std::unordered_map<uint64_t, uint64_t> correlation_;  // launches and what they launched
  int64_t next_device_ = 0;
};

}  // namespace

Status WriteXSpace(const trace::Trace& trace, Sink* sink) {
  return XSpaceWriter(trace, /*beside=*/false).Write(sink);
}

Status WriteXSpaceBeside(const trace::Trace& trace, Sink* sink) {
  return XSpaceWriter(trace, /*beside=*/true).Write(sink);
}

}  // namespace crosscut::exporting
