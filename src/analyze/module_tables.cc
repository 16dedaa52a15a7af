#include "src/analyze/module_tables.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "src/analyze/columns.h"
#include "src/analyze/device_work.h"

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
  Modules(const trace::Trace& trace, const Context& context) : trace_(trace) {
    for (const trace::Name& name : trace.names) {
      const std::string_view text = trace.text(name.text);
      is_module_.push_back(text.starts_with(kModule));
      is_frame_.push_back(text.starts_with(kFrame));
    }
    for (const trace::Flow& flow : trace.flows) LinkNode(flow);
    for (uint32_t track = 0; track < trace.tracks.size(); ++track) TakeTrack(track);
    for (const ProcessWork& work : context.device_work()) {
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
  const trace::Spans& SpansOf(Place at) const { return trace_.tracks[at.track].spans; }
  std::string_view TextOf(const trace::Spans& spans, SpanIndex span) const {
    return trace_.text(trace_.name(spans.name[span]).text);
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
  }

  bool IsFrame(Place at) const {
    return is_frame_[SpansOf(at).name[at.span].value] || cause_of_.contains(at.key());
  }

  // One pass, parents before their children.
  void TakeTrack(uint32_t index) {
    const trace::Track& track = trace_.tracks[index];
    if (track.kind == trace::TrackKind::kDevice) return;
    const trace::Spans& spans = track.spans;
    std::vector<SpanIndex> module(spans.size(), kNoSpan), frame(spans.size(), kNoSpan);
    auto continued = spans.continued.begin();
    for (SpanIndex i = 0; i < spans.size(); ++i) {
      const SpanIndex parent = spans.parent[i];
      const SpanIndex around = parent == kNoSpan ? kNoSpan : module[parent];
      const SpanIndex frame_around = parent == kNoSpan ? kNoSpan : frame[parent];
      const bool goes_on = continued != spans.continued.end() && *continued == i;
      if (goes_on) ++continued;
      const bool is_module = is_module_[spans.name[i].value], is_frame = IsFrame({index, i});
      module[i] = is_module ? i : around;
      frame[i] = is_frame ? i : frame_around;
      const int64_t length = spans.end_ns[i] - spans.begin_ns[i];
      if (is_module) TakeCall({index, i}, around, length, goes_on);
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
    calls.total_ns += length;
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

  Cause CauseOf(Place frame) const {
    Cause cause{trace_.tracks[frame.track].process.value, {}, {}, {}};
    const auto found = cause_of_.find(frame.key());
    if (found == cause_of_.end()) return cause;
    const trace::Spans& spans = SpansOf(found->second);
    cause.op = trace_.name(spans.name[found->second.span]).text;
    for (SpanIndex s = found->second.span; s != kNoSpan; s = spans.parent[s]) {
      const trace::Name& name = trace_.name(spans.name[s]);
      if (!cause.operation.valid() && name.kind == trace::Kind::kOperation) {
        cause.operation = name.text;
      }
      if (!cause.module.valid() && is_module_[spans.name[s].value]) cause.module = name.text;
    }
    return cause;
  }

  void AddDeviceTime(const DeviceEvent& event) {
    if (!event.work() || !event.launched()) return;
    const int64_t ns = event.end_ns - event.begin_ns;
    Place at{event.launch_track.value, event.launch};
    const trace::Spans& spans = SpansOf(at);
    for (; at.span != kNoSpan; at.span = spans.parent[at.span]) {
      if (IsFrame(at)) {
        FramesOf(at).device_ns += ns;
        return;
      }
      if (is_module_[spans.name[at.span].value]) {
        CallsOf(at).device_ns += ns;
        return;
      }
    }
  }

  const trace::Trace& trace_;
  std::vector<bool> is_module_, is_frame_;        // by name
  std::unordered_map<uint64_t, Place> cause_of_;  // frames, by place
  std::map<std::pair<uint32_t, uint32_t>, Calls> calls_;
  std::vector<Frames> frames_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, size_t> frame_index_;
};

std::string_view WithoutPrefix(std::string_view text) {
  return text.starts_with(kModule) ? text.substr(kModule.size()) : text;
}

}  // namespace

Table ModulesTable(const trace::Trace& trace, const Context& context) {
  struct Row {
    Modules::Calls calls;
    int64_t backward_ns = 0, backward_device_ns = 0;
  };
  const Modules modules(trace, context);
  std::map<std::pair<uint32_t, uint32_t>, Row> by_module;
  for (const auto& [key, calls] : modules.calls()) by_module[key].calls = calls;
  for (const Modules::Frames& frames : modules.frames()) {
    Row& row = by_module[{frames.cause.process, frames.cause.module.value}];
    row.backward_ns += frames.ns;
    row.backward_device_ns += frames.device_ns;
  }
  std::vector<std::pair<std::pair<uint32_t, uint32_t>, Row>> rows(by_module.begin(),
                                                                  by_module.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second.calls.self_ns + a.second.backward_ns >
           b.second.calls.self_ns + b.second.backward_ns;
  });
  Texts process, module;
  Integers count, total, self, device, backward, backward_device;
  for (const auto& [key, row] : rows) {
    process.push_back(context.process_label({key.first}));
    module.emplace_back(WithoutPrefix(trace.text({key.second})));
    count.push_back(row.calls.count);
    total.push_back(row.calls.total_ns);
    self.push_back(row.calls.self_ns);
    device.push_back(row.calls.device_ns);
    backward.push_back(row.backward_ns);
    backward_device.push_back(row.backward_device_ns);
  }
  return MakeTable("modules", MakeColumn("process", process), MakeColumn("module", module),
                   MakeColumn("count", count), MakeColumn("total_ns", total),
                   MakeColumn("self_ns", self), MakeColumn("device_ns", device),
                   MakeColumn("backward_ns", backward),
                   MakeColumn("backward_device_ns", backward_device));
}

Table BackwardTable(const trace::Trace& trace, const Context& context) {
  std::vector<Modules::Frames> rows = Modules(trace, context).frames();
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.ns > b.ns; });
  Texts process, operation, module, op;
  Integers count, backward, device;
  for (const Modules::Frames& row : rows) {
    process.push_back(context.process_label({row.cause.process}));
    operation.emplace_back(trace.text(row.cause.operation));
    module.emplace_back(WithoutPrefix(trace.text(row.cause.module)));
    op.emplace_back(trace.text(row.cause.op));
    count.push_back(row.count);
    backward.push_back(row.ns);
    device.push_back(row.device_ns);
  }
  return MakeTable("backward", MakeColumn("process", process), MakeColumn("operation", operation),
                   MakeColumn("module", module), MakeColumn("operator", op),
                   MakeColumn("count", count), MakeColumn("backward_ns", backward),
                   MakeColumn("device_ns", device));
}

}  // namespace crosscut::analyze
