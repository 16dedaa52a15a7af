#include <algorithm>
#include <map>
#include <tuple>

#include "src/analyze/columns.h"
#include "src/analyze/devices/device_work.h"
#include "src/analyze/operators/tables.h"
#include "src/trace/namesakes.h"
#include "src/trace/spans_around.h"
#include "src/trace/stacks.h"

namespace crosscut::analyze {
namespace {

using trace::kNoSpan;
using trace::SpanIndex;
using trace::StackTree;
using Node = StackTree::Node;

constexpr std::string_view kEngineFrame = "autograd::engine::evaluate_function: ";

bool IsOperator(const trace::Name& name) {
  return name.kind == trace::Kind::kSpan &&
         (name.layer == trace::Layer::kFramework || name.layer == trace::Layer::kComm);
}

struct Key {
  uint32_t process, operator_text, probe;
  trace::Layer layer;
  Node stack;
  uint32_t forward_text;  // of the operator that caused this one; none: StringId's none
  Node forward_stack;
  auto Tie() const {
    return std::tie(process, operator_text, probe, layer, stack, forward_text, forward_stack);
  }
  bool operator<(const Key& other) const { return Tie() < other.Tie(); }
};
struct Sums {
  uint32_t number;  // of the row
  int64_t count = 0, total_ns = 0, self_ns = 0, device_ns = 0;
};

class OperatorStacks {
 public:
  OperatorStacks(const trace::Trace& trace, const Context& context) : trace_(trace), tree_(trace) {
    for (const trace::Track& track : trace.tracks) {
      const bool host = track.kind == trace::TrackKind::kThread;
      stacks_.push_back(host ? PythonStacks(trace, track, &tree_) : std::vector<Node>());
    }
    FindCauses();
    FindDeviceTimes(context);
    for (uint32_t t = 0; t < trace.tracks.size(); ++t) {
      if (trace.tracks[t].kind == trace::TrackKind::kThread) AddTrack(t);
    }
  }
  Table Make(const Context& context) const;

 private:
  using Place = std::pair<uint32_t, SpanIndex>;  // track, span

  // Arrows from forward operators to the nodes of the backward pass that they made.
  void FindCauses() {
    for (const trace::Flow& flow : trace_.flows) {
      if (!flow.from_track.valid() || !flow.to_track.valid()) continue;
      if (flow.from == kNoSpan || flow.to == kNoSpan) continue;
      const trace::Track& to = trace_.tracks[flow.to_track.value];
      if (trace_.tracks[flow.from_track.value].kind != trace::TrackKind::kThread) continue;
      if (to.kind != trace::TrackKind::kThread || !IsOperator(NameOf(to, flow.to))) continue;
      const Place cause{flow.from_track.value, flow.from};
      causes_.emplace(Place{flow.to_track.value, flow.to}, cause);
      // The engine's frame around a node is there for the same cause.
      const SpanIndex around = to.spans.parent[flow.to];
      if (around != kNoSpan && trace_.text(NameOf(to, around).text).starts_with(kEngineFrame)) {
        causes_.emplace(Place{flow.to_track.value, around}, cause);
      }
    }
  }

  // By the innermost operator around the launching call, or that call where there is none.
  void FindDeviceTimes(const Context& context) {
    trace::SpansAround operators(trace_, [this](trace::TrackId track, SpanIndex span) {
      return IsOperator(NameOf(trace_.tracks[track.value], span));
    });
    for (const ProcessWork& work : context.Shared<DeviceWork>().processes) {
      for (const DeviceEvent& event : work.events) {
        if (!event.work() || !event.launched()) continue;
        const SpanIndex op = operators.Of(event.launch_track, event.launch);
        const Place place{event.launch_track.value, op == kNoSpan ? event.launch : op};
        device_ns_[place] += event.end_ns - event.begin_ns;
      }
    }
  }

  void AddTrack(uint32_t t) {
    const trace::Track& track = trace_.tracks[t];
    const trace::Spans& spans = track.spans;
    const std::vector<int64_t> self = FunctionSelfTimes(trace_, spans);
    std::vector<Place> cause(spans.size(), Place{0, kNoSpan});
    trace::Continuations continued(spans);
    open_.Begin(spans);
    for (SpanIndex i = 0; i < spans.size(); ++i) {
      const bool goes_on = continued.Has(i);
      const auto caused = causes_.find({t, i});
      if (caused != causes_.end()) {
        cause[i] = caused->second;
      } else if (spans.parent[i] != kNoSpan) {
        cause[i] = cause[spans.parent[i]];
      }
      const auto device = device_ns_.find({t, i});
      const trace::Name& name = NameOf(track, i);
      if (!IsOperator(name) && device == device_ns_.end()) {
        open_.Enter(i, trace::Namesakes::kNoKey);
        continue;
      }
      const bool forward = cause[i].second != kNoSpan;
      Sums& sums =
          SumsOf({track.process.value, name.text.value, name.probe.value, name.layer, stacks_[t][i],
                  forward ? TextOf(cause[i]) : trace::StringId::None().value,
                  forward ? stacks_[cause[i].first][cause[i].second] : StackTree::kRoot});
      if (!goes_on) ++sums.count;
      const bool outermost = open_.Enter(i, sums.number) == kNoSpan;
      if (outermost) sums.total_ns += spans.end_ns[i] - spans.begin_ns[i];
      sums.self_ns += self[i];
      if (device != device_ns_.end()) sums.device_ns += device->second;
    }
  }

  Sums& SumsOf(const Key& key) {
    return rows_.try_emplace(key, Sums{static_cast<uint32_t>(rows_.size())}).first->second;
  }

  uint32_t TextOf(Place place) const {
    return NameOf(trace_.tracks[place.first], place.second).text.value;
  }
  const trace::Name& NameOf(const trace::Track& track, SpanIndex span) const {
    return trace_.name(track.spans.name[span]);
  }

  const trace::Trace& trace_;
  StackTree tree_;
  std::vector<std::vector<Node>> stacks_;  // by track and span
  std::map<Place, Place> causes_;
  std::map<Place, int64_t> device_ns_;
  std::map<Key, Sums> rows_;
  trace::Namesakes open_;  // by row
};

Table OperatorStacks::Make(const Context& context) const {
  std::vector<const std::pair<const Key, Sums>*> order;
  for (const auto& row : rows_) order.push_back(&row);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.device_ns, a->second.self_ns) >
           std::pair(b->second.device_ns, b->second.self_ns);
  });
  TableRows table("operator_stacks", Text("process"), Text("operator"), Text("probe"),
                  Text("layer"), Text("stack"), Text("forward"), Text("forward_stack"),
                  Integer("count"), Integer("total_ns"), Integer("self_ns"), Integer("device_ns"));
  for (const auto* row : order) {
    const auto& [key, sums] = *row;
    table.Add(context.process_label({key.process}), trace_.text({key.operator_text}),
              trace_.text({key.probe}), trace::LayerName(key.layer), tree_.Text(key.stack),
              trace_.text({key.forward_text}), tree_.Text(key.forward_stack), sums.count,
              sums.total_ns, sums.self_ns, sums.device_ns);
  }
  return table.Make();
}

}  // namespace

Table OperatorStacksTable(const trace::Trace& trace, const Context& context) {
  return OperatorStacks(trace, context).Make(context);
}

}  // namespace crosscut::analyze
