#include "src/analyze/operator_table.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "src/analyze/columns.h"
#include "src/analyze/device_work.h"
#include "src/analyze/flops.h"

namespace crosscut::analyze {
namespace {

using trace::kNoSpan;
using trace::SpanIndex;

struct Row {
  uint32_t text;  // of the name
  trace::Layer layer;
  uint32_t dims, types;  // strings; those of StringId::None() where they were not recorded
  int64_t count = 0, total_ns = 0, self_ns = 0, device_ns = 0, flops = kMissing;
};

class Operators {
 public:
  Operators(const trace::Trace& trace, const Context& context) : trace_(trace) {
    for (const char* key : {"Input Dims", "Input type", "Concrete Inputs"}) {
      keys_.push_back(trace.strings.Find(key).value);
    }
    for (const trace::Name& name : trace.names) {
      is_operator_.push_back(
          name.kind == trace::Kind::kSpan &&
          (name.layer == trace::Layer::kFramework || name.layer == trace::Layer::kComm) &&
          trace.text(name.probe) != "boundary");
    }
    for (const ProcessWork& work : context.device_work()) {
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
    uint32_t dims = kNone, types = kNone, concrete = kNone;
  };

  bool IsOperator(const trace::Spans& spans, SpanIndex span) const {
    return is_operator_[spans.name[span].value];
  }

  void AddDeviceTime(const DeviceEvent& event) {
    if (!event.work() || !event.launched()) return;
    const trace::Spans& spans = trace_.tracks[event.launch_track.value].spans;
    SpanIndex span = event.launch;
    while (span != kNoSpan && !IsOperator(spans, span)) span = spans.parent[span];
    if (span == kNoSpan) return;
    device_ns_[uint64_t{event.launch_track.value} << 32 | span] += event.end_ns - event.begin_ns;
  }

  void AddTrack(uint32_t index) {
    const trace::Track& track = trace_.tracks[index];
    if (track.kind == trace::TrackKind::kDevice) return;
    const trace::Spans& spans = track.spans;
    std::vector<int64_t> inside(spans.size(), 0);
    for (SpanIndex i = 0; i < spans.size(); ++i) {
      const SpanIndex around = FunctionAround(spans, i);
      if (around != kNoSpan) inside[around] += spans.end_ns[i] - spans.begin_ns[i];
    }
    size_t arg = 0;
    auto continued = spans.continued.begin();
    uint32_t row = kNone;
    for (SpanIndex i = 0; i < spans.size(); ++i) {
      const bool goes_on = continued != spans.continued.end() && *continued == i;
      if (goes_on) ++continued;
      if (!IsOperator(spans, i)) continue;
      const Inputs inputs = InputsOf(track.args, i, &arg);
      row = RowOf(spans.name[i], inputs);
      const int64_t length = spans.end_ns[i] - spans.begin_ns[i];
      rows_[row].total_ns += length;
      rows_[row].self_ns += length - inside[i];
      const auto device = device_ns_.find(uint64_t{index} << 32 | i);
      if (device != device_ns_.end()) rows_[row].device_ns += device->second;
      if (goes_on) continue;
      ++rows_[row].count;
      const int64_t flops = Flops(spans.name[i], inputs);
      if (flops != kMissing) rows_[row].flops = std::max<int64_t>(rows_[row].flops, 0) + flops;
    }
  }

  // The next span around that is no operation; kNoSpan where `span` is an operation itself.
  SpanIndex FunctionAround(const trace::Spans& spans, SpanIndex span) const {
    const auto is_function = [&](SpanIndex s) {
      return trace_.name(spans.name[s]).kind == trace::Kind::kSpan;
    };
    if (!is_function(span)) return kNoSpan;
    SpanIndex around = spans.parent[span];
    while (around != kNoSpan && !is_function(around)) around = spans.parent[around];
    return around;
  }

  Inputs InputsOf(const trace::Args& args, SpanIndex span, size_t* at) const {
    Inputs inputs;
    while (*at < args.size() && args.span[*at] < span) ++*at;
    for (; *at < args.size() && args.span[*at] == span; ++*at) {
      if (!args.is_text[*at]) continue;
      const uint32_t key = args.key[*at].value, text = args.text(*at).value;
      if (key == keys_[0]) inputs.dims = text;
      if (key == keys_[1]) inputs.types = text;
      if (key == keys_[2]) inputs.concrete = text;
    }
    return inputs;
  }

  uint32_t RowOf(trace::NameId id, const Inputs& inputs) {
    const trace::Name& name = trace_.name(id);
    const auto key = std::tuple(name.text.value, name.layer, inputs.dims, inputs.types);
    const auto [at, fresh] = index_.try_emplace(key, static_cast<uint32_t>(rows_.size()));
    if (fresh) rows_.push_back({name.text.value, name.layer, inputs.dims, inputs.types});
    return at->second;
  }

  int64_t Flops(trace::NameId id, const Inputs& inputs) {
    if (inputs.dims == kNone) return kMissing;
    const trace::StringId name = trace_.name(id).text;
    const auto [at, fresh] =
        flops_.try_emplace(std::tuple(name.value, inputs.dims, inputs.concrete), kMissing);
    if (fresh) {
      at->second =
          FlopsOf(trace_.text(name), trace_.text({inputs.dims}), trace_.text({inputs.concrete}));
    }
    return at->second;
  }

  const trace::Trace& trace_;
  std::vector<uint32_t> keys_;
  std::vector<bool> is_operator_;                    // by name
  std::unordered_map<uint64_t, int64_t> device_ns_;  // by track and span
  std::vector<Row> rows_;
  std::map<std::tuple<uint32_t, trace::Layer, uint32_t, uint32_t>, uint32_t> index_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, int64_t> flops_;
};

}  // namespace

Table OperatorsTable(const trace::Trace& trace, const Context& context) {
  Texts layer, name, dims, types;
  Integers count, total, self, device, flops;
  for (const Row& row : Operators(trace, context).Sorted()) {
    layer.emplace_back(trace::LayerName(row.layer));
    name.emplace_back(trace.text({row.text}));
    dims.emplace_back(trace.text({row.dims}));
    types.emplace_back(trace.text({row.types}));
    count.push_back(row.count);
    total.push_back(row.total_ns);
    self.push_back(row.self_ns);
    device.push_back(row.device_ns);
    flops.push_back(row.flops);
  }
  return MakeTable("operators", MakeColumn("layer", layer), MakeColumn("name", name),
                   MakeColumn("input_dims", dims), MakeColumn("input_types", types),
                   MakeColumn("count", count), MakeColumn("total_ns", total),
                   MakeColumn("self_ns", self), MakeColumn("self_device_ns", device),
                   MakeColumn("flops", flops));
}

}  // namespace crosscut::analyze
