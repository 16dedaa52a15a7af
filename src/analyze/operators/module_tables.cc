#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "src/analyze/columns.h"
#include "src/analyze/devices/device_work.h"
#include "src/analyze/operators/tables.h"
#include "src/trace/namesakes.h"
#include "src/trace/spans_around.h"

namespace crosscut::analyze {
namespace {

using trace::kNoSpan;
using trace::SpanIndex;

constexpr std::string_view kModule = "nn.Module: ";
constexpr std::string_view kFrame = "autograd::engine::evaluate_function: ";

// A span somewhere: a track's index and its span.
struct Place {
  uint32_t track = 0;
  SpanIndex span = kNoSpan;
  bool known() const { return span != kNoSpan; }
  uint64_t key() const { return uint64_t{track} << 32 | span; }
};

// What caused a frame: strings, none where there is none.
struct Cause {
  uint32_t process;
  trace::StringId operation, module, op;
  auto key() const { return std::tuple(process, operation.value, module.value, op.value); }
};

class Modules {
 public:
  Modules(const trace::Trace& trace, const Context& context)
      : trace_(trace),
        operations_(trace,
                    [this](trace::TrackId track, SpanIndex span) {
                      return trace_.name(NameOf(track, span)).kind == trace::Kind::kOperation;
                    }),
        modules_(trace, [this](trace::TrackId track,
                               SpanIndex span) { return is_module_[NameOf(track, span).value]; }),
        framed_(trace, [this](trace::TrackId track, SpanIndex span) {
          return is_module_[NameOf(track, span).value] || IsFrame({track.value, span});
        }) {
    for (const trace::Name& name : trace.names) {
      const std::string_view text = trace.text(name.text);
      is_module_.push_back(text.starts_with(kModule));
      is_frame_.push_back(text.starts_with(kFrame));
    }
    has_cause_.resize(trace.names.size());
    for (const trace::Flow& flow : trace.flows) LinkNode(flow);
    const auto any = [](const std::vector<bool>& names) {
      return std::find(names.begin(), names.end(), true) != names.end();
    };
    if (!any(is_module_) && !any(is_frame_) && !any(has_cause_)) return;
    for (uint32_t track = 0; track < trace.tracks.size(); ++track) TakeTrack(track);
    for (const ProcessWork& work : context.Shared<DeviceWork>().processes) {
      for (const DeviceEvent& event : work.events) AddDeviceTime(event);
    }
  }

  struct Frames {
    Cause cause;
    int64_t count = 0, ns = 0, device_ns = 0;
  };
  struct Calls {
    int64_t count = 0, total_ns = 0, self_ns = 0, device_ns = 0;
  };
  const std::vector<Frames>& frames() const { return frames_; }
  // By process and module.
  const std::map<std::pair<uint32_t, uint32_t>, Calls>& calls() const { return calls_; }

 private:
  trace::NameId NameOf(trace::TrackId track, SpanIndex span) const {
    return trace_.tracks[track.value].spans.name[span];
  }
  const trace::Spans& SpansOf(Place at) const { return trace_.tracks[at.track].spans; }
  std::string_view TextOf(const trace::Spans& spans, SpanIndex span) const {
    return trace_.name_text(spans.name[span]);
  }

  // The arrow's end stands for its engine's frame, where there is one.
  void LinkNode(const trace::Flow& flow) {
    if (flow.from == kNoSpan || flow.to == kNoSpan) return;
    Place to{flow.to_track.value, flow.to};
    const trace::Spans& spans = SpansOf(to);
    const trace::Layer layer = trace_.name(spans.name[to.span]).layer;
    if (layer != trace::Layer::kFramework) return;  // a launch, a message
    const SpanIndex parent = spans.parent[to.span];
    if (parent != kNoSpan && is_frame_[spans.name[parent].value]) to.span = parent;
    cause_of_.try_emplace(to.key(), Place{flow.from_track.value, flow.from});
    has_cause_[SpansOf(to).name[to.span].value] = true;
  }

  bool IsFrame(Place at) const {
    const uint32_t name = SpansOf(at).name[at.span].value;
    return is_frame_[name] || (has_cause_[name] && cause_of_.contains(at.key()));
  }

  // One pass, parents before their children.
  void TakeTrack(uint32_t index) {
    const trace::Track& track = trace_.tracks[index];
    if (track.kind == trace::TrackKind::kDevice) return;
    const trace::Spans& spans = track.spans;
    std::vector<SpanIndex> module(spans.size(), kNoSpan), frame(spans.size(), kNoSpan);
    trace::Continuations continued(spans);
    open_.Begin(spans);
    for (SpanIndex i = 0; i < spans.size(); ++i) {
      const SpanIndex parent = spans.parent[i];
      const SpanIndex around = parent == kNoSpan ? kNoSpan : module[parent];
      const SpanIndex frame_around = parent == kNoSpan ? kNoSpan : frame[parent];
      const bool goes_on = continued.Has(i);
      const bool is_module = is_module_[spans.name[i].value], is_frame = IsFrame({index, i});
      module[i] = is_module ? i : around;
      frame[i] = is_frame ? i : frame_around;
      const int64_t length = spans.end_ns[i] - spans.begin_ns[i];
      const uint32_t key =
          is_module ? trace_.name(spans.name[i]).text.value : trace::Namesakes::kNoKey;
      const bool outermost = open_.Enter(i, key) == kNoSpan;
      if (is_module) {
        if (outermost) CallsOf({index, i}).total_ns += length;
        TakeCall({index, i}, around, length, goes_on);
      }
      if (is_frame) TakeFrame({index, i}, frame_around, length, goes_on);
    }
  }

  Calls& CallsOf(Place at) {
    const trace::NameId name = SpansOf(at).name[at.span];
    return calls_[{trace_.tracks[at.track].process.value, trace_.name(name).text.value}];
  }

  void TakeCall(Place at, SpanIndex around, int64_t length, bool goes_on) {
    Calls& calls = CallsOf(at);
    calls.count += goes_on ? 0 : 1;
    calls.self_ns += length;
    if (around != kNoSpan) CallsOf({at.track, around}).self_ns -= length;
  }

  void TakeFrame(Place at, SpanIndex around, int64_t length, bool goes_on) {
    Frames& frames = FramesOf(at);
    frames.count += goes_on ? 0 : 1;
    frames.ns += length;
    if (around != kNoSpan) FramesOf({at.track, around}).ns -= length;
  }

  Frames& FramesOf(Place frame) {
    const Cause cause = CauseOf(frame);
    const auto [at, fresh] = frame_index_.try_emplace(cause.key(), frames_.size());
    if (fresh) frames_.push_back({cause});
    return frames_[at->second];
  }

  Cause CauseOf(Place frame) {
    Cause cause{trace_.tracks[frame.track].process.value, {}, {}, {}};
    const auto found = cause_of_.find(frame.key());
    if (found == cause_of_.end()) return cause;
    const Place by = found->second;
    const auto text = [&](SpanIndex span) {
      return span == kNoSpan ? trace::StringId() : trace_.name(SpansOf(by).name[span]).text;
    };
    cause.op = text(by.span);
    cause.operation = text(operations_.Of({by.track}, by.span));
    cause.module = text(modules_.Of({by.track}, by.span));
    return cause;
  }

  void AddDeviceTime(const DeviceEvent& event) {
    if (!event.work() || !event.launched()) return;
    const int64_t ns = event.end_ns - event.begin_ns;
    const Place at{event.launch_track.value, framed_.Of(event.launch_track, event.launch)};
    if (at.span == kNoSpan) return;
    (IsFrame(at) ? FramesOf(at).device_ns : CallsOf(at).device_ns) += ns;
  }

  const trace::Trace& trace_;
  trace::SpansAround operations_, modules_, framed_;    // framed: a frame, else a module
  std::vector<bool> is_module_, is_frame_, has_cause_;  // by name
  std::unordered_map<uint64_t, Place> cause_of_;        // frames, by place
  std::map<std::pair<uint32_t, uint32_t>, Calls> calls_;
  trace::Namesakes open_;  // by text
  std::vector<Frames> frames_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, size_t> frame_index_;
};

std::string_view WithoutPrefix(std::string_view text) {
  return text.starts_with(kModule) ? text.substr(kModule.size()) : text;
}

}  // namespace

Table ModulesTable(const trace::Trace& trace, const Context& context) {
  struct Row : Modules::Calls {
    uint32_t process = 0, module = 0;
    int64_t backward_ns = 0, backward_device_ns = 0;
  };
  const Modules modules(trace, context);
  std::map<std::pair<uint32_t, uint32_t>, Row> by_module;
  for (const auto& [key, calls] : modules.calls()) by_module[key] = {calls, key.first, key.second};
  for (const Modules::Frames& frames : modules.frames()) {
    const auto key = std::pair(frames.cause.process, frames.cause.module.value);
    Row& row = by_module.try_emplace(key, Row{{}, key.first, key.second}).first->second;
    row.backward_ns += frames.ns;
    row.backward_device_ns += frames.device_ns;
  }
  std::vector<Row> rows;
  for (const auto& [key, row] : by_module) rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.self_ns + a.backward_ns > b.self_ns + b.backward_ns;
  });
  TableRows table("modules", Text("process"), Text("module"), Integer("count"), Integer("total_ns"),
                  Integer("self_ns"), Integer("device_ns"), Integer("backward_ns"),
                  Integer("backward_device_ns"));
  for (const Row& row : rows) {
    table.Add(context.process_label({row.process}), WithoutPrefix(trace.text({row.module})),
              row.count, row.total_ns, row.self_ns, row.device_ns, row.backward_ns,
              row.backward_device_ns);
  }
  return table.Make();
}

Table BackwardTable(const trace::Trace& trace, const Context& context) {
  using Row = Modules::Frames;
  std::vector<Row> rows = Modules(trace, context).frames();
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.ns > b.ns; });
  TableRows table("backward", Text("process"), Text("operation"), Text("module"), Text("operator"),
                  Integer("count"), Integer("backward_ns"), Integer("device_ns"));
  for (const Row& row : rows) {
    table.Add(context.process_label({row.cause.process}), trace.text(row.cause.operation),
              WithoutPrefix(trace.text(row.cause.module)), trace.text(row.cause.op), row.count,
              row.ns, row.device_ns);
  }
  return table.Make();
}

}  // namespace crosscut::analyze
