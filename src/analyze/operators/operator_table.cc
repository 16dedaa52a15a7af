#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "src/analyze/amounts.h"
#include "src/analyze/columns.h"
#include "src/analyze/devices/device_work.h"
#include "src/analyze/operators/span_flops.h"
#include "src/analyze/operators/tables.h"
#include "src/trace/namesakes.h"
#include "src/trace/spans_around.h"
#include "src/trace/stacks.h"
#include "src/trace/whole_spans.h"

namespace crosscut::analyze {
namespace {

using trace::kNoSpan;
using trace::SpanIndex;

// What calls are put together by: the table's rows, and what its reader may group them by.
enum Group { kByRow, kByName, kByOverload, kByDims, kGroups };

struct Row {
  uint32_t text, overload;  // of the name
  trace::Layer layer;
  uint32_t dims, types;  // strings; those of StringId::None() where they were not recorded
  std::array<uint32_t, kGroups> group;
  std::array<int64_t, kGroups> total_ns{};  // in which the group's outermost call is one of these
  int64_t count = 0, self_ns = 0, device_ns = 0, flops = kMissing;
};

class Operators {
 public:
  Operators(const trace::Trace& trace, const Context& context)
      : trace_(trace), flops_(trace), around_(trace, [this](trace::TrackId track, SpanIndex span) {
          return IsOperator(trace_.tracks[track.value].spans, span);
        }) {
    for (const char* key : {"Input Dims", "Input type"}) {
      keys_.push_back(trace.strings.Find(key).value);
    }
    for (const trace::Name& name : trace.names) {
      is_operator_.push_back(
          name.kind == trace::Kind::kSpan &&
          (name.layer == trace::Layer::kFramework || name.layer == trace::Layer::kComm) &&
          trace.text(name.probe) != "boundary");
    }
    last_.resize(trace.names.size());
    for (const ProcessWork& work : context.Shared<DeviceWork>().processes) {
      for (const DeviceEvent& event : work.events) AddDeviceTime(event);
    }
    for (uint32_t track = 0; track < trace.tracks.size(); ++track) AddTrack(track);
  }

  std::vector<Row> Sorted() {
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](const Row& a, const Row& b) { return a.self_ns > b.self_ns; });
    return std::move(rows_);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Inputs {
    uint32_t dims = kNone, types = kNone;
    bool operator==(const Inputs&) const = default;
  };
  struct Last {
    Inputs inputs;
    uint32_t row = kNone;
  };

  bool IsOperator(const trace::Spans& spans, SpanIndex span) const {
    return is_operator_[spans.name[span].value];
  }

  void AddDeviceTime(const DeviceEvent& event) {
    if (!event.work() || !event.launched()) return;
    const SpanIndex span = around_.Of(event.launch_track, event.launch);
    if (span == kNoSpan) return;
    device_ns_[uint64_t{event.launch_track.value} << 32 | span] += event.end_ns - event.begin_ns;
  }

  void AddTrack(uint32_t index) {
    const trace::Track& track = trace_.tracks[index];
    if (track.kind == trace::TrackKind::kDevice) return;
    const trace::Spans& spans = track.spans;
    const std::vector<int64_t> self = FunctionSelfTimes(trace_, spans);
    const std::vector<int64_t> flops = flops_.Of(track);
    trace::Continuations continued(spans);
    const trace::WholeSpans wholes(spans);
    for (trace::Namesakes& group : open_) group.Begin(spans);
    for (SpanIndex i = 0; i < spans.size(); ++i) {
      const bool goes_on = continued.Has(i);
      if (!IsOperator(spans, i)) {
        for (trace::Namesakes& group : open_) group.Enter(i, trace::Namesakes::kNoKey);
        continue;
      }
      const Inputs inputs = InputsOf(track.args, wholes.first(i));  // later parts have none
      const Last& last = LookUp(spans.name[i], inputs);
      Row& row = rows_[last.row];
      for (size_t g = 0; g < kGroups; ++g) {
        const bool outermost = open_[g].Enter(i, row.group[g]) == kNoSpan;
        if (outermost) row.total_ns[g] += spans.end_ns[i] - spans.begin_ns[i];
      }
      row.self_ns += self[i];
      if (!device_ns_.empty()) {
        const auto device = device_ns_.find(uint64_t{index} << 32 | i);
        if (device != device_ns_.end()) row.device_ns += device->second;
      }
      if (!goes_on) ++row.count;
      if (!flops.empty() && flops[i] != kMissing) {
        row.flops = Together(std::max<int64_t>(row.flops, 0), flops[i]);
      }
    }
  }

  // Most calls have the inputs of the one before them of their name.
  const Last& LookUp(trace::NameId name, const Inputs& inputs) {
    Last& last = last_[name.value];
    if (last.row == kNone || last.inputs != inputs) {
      last = {inputs, RowOf(name, inputs)};
    }
    return last;
  }

  Inputs InputsOf(const trace::Args& args, SpanIndex span) const {
    Inputs inputs;
    for (const trace::Arg& arg : args.of(span)) {
      if (!arg.is_text) continue;
      const uint32_t key = arg.key.value, text = arg.text().value;
      if (key == keys_[0]) inputs.dims = text;
      if (key == keys_[1]) inputs.types = text;
    }
    return inputs;
  }

  uint32_t RowOf(trace::NameId id, const Inputs& inputs) {
    const trace::Name& name = trace_.name(id);
    const auto key =
        std::tuple(name.text.value, name.overload.value, name.layer, inputs.dims, inputs.types);
    const auto [at, fresh] = index_.try_emplace(key, static_cast<uint32_t>(rows_.size()));
    if (fresh) {
      const uint32_t text = name.text.value, overload = name.overload.value;
      rows_.push_back(
          {text,
           overload,
           name.layer,
           inputs.dims,
           inputs.types,
           {at->second, GroupOf({kByName, text, 0}), GroupOf({kByOverload, text, overload}),
            GroupOf({kByDims, text, inputs.dims})}});
    }
    return at->second;
  }

  uint32_t GroupOf(const std::tuple<Group, uint32_t, uint32_t>& key) {
    return groups_.try_emplace(key, static_cast<uint32_t>(groups_.size())).first->second;
  }

  const trace::Trace& trace_;
  std::vector<uint32_t> keys_;
  std::vector<bool> is_operator_;                    // by name
  std::unordered_map<uint64_t, int64_t> device_ns_;  // by track and span
  std::vector<Last> last_;                           // by name
  std::vector<Row> rows_;
  std::array<trace::Namesakes, kGroups> open_;  // by the group's number
  std::map<std::tuple<uint32_t, uint32_t, trace::Layer, uint32_t, uint32_t>, uint32_t> index_;
  std::map<std::tuple<Group, uint32_t, uint32_t>, uint32_t> groups_;
  SpanFlops flops_;
  trace::SpansAround around_;  // operators
};

}  // namespace

Table OperatorsTable(const trace::Trace& trace, const Context& context) {
  TableRows table("operators", Text("layer"), Text("name"), Text("overload"), Text("input_dims"),
                  Text("input_types"), Integer("count"), Integer("total_ns"), Integer("self_ns"),
                  Integer("self_device_ns"), Integer("flops"), Integer("name_total_ns"),
                  Integer("overload_total_ns"), Integer("dims_total_ns"));
  for (const Row& row : Operators(trace, context).Sorted()) {
    table.Add(trace::LayerName(row.layer), trace.text({row.text}), trace.text({row.overload}),
              trace.text({row.dims}), trace.text({row.types}), row.count, row.total_ns[kByRow],
              row.self_ns, row.device_ns, CellOf(row.flops), row.total_ns[kByName],
              row.total_ns[kByOverload], row.total_ns[kByDims]);
  }
  return table.Make();
}

}  // namespace crosscut::analyze
