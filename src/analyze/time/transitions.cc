#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/analyze/accounting/key_intervals.h"
#include "src/analyze/columns.h"
#include "src/analyze/time/tables.h"

namespace crosscut::analyze {
namespace {

struct Key {
  uint32_t operation = 0;
  LayerSet layers = 0;
  bool operator==(const Key&) const = default;
  bool operator<(const Key& other) const {
    return std::tie(operation, layers) < std::tie(other.operation, other.layers);
  }
};

struct Transition {
  uint32_t process = 0;
  bool starts = false;  // nothing was before it
  Key from, to;
  int64_t count = 0, ns = 0;
};

std::vector<Transition> TransitionsOf(const trace::Trace& trace, const Accounting& accounting,
                                      uint32_t process) {
  std::map<std::pair<bool, std::pair<Key, Key>>, Transition> sums;
  Key from;
  VisitKeyIntervals(trace, accounting, {process}, [&](const KeyInterval& now) {
    if (now.after_gap) from = {};
    const Key to = {now.operation, now.layers};
    Transition& t = sums[{now.after_gap, {from, to}}];
    t = {process, now.after_gap, from, to, t.count + 1, t.ns + now.end_ns - now.begin_ns};
    from = to;
  });
  std::vector<Transition> out;
  for (const auto& [key, transition] : sums) out.push_back(transition);
  std::stable_sort(out.begin(), out.end(),
                   [](const Transition& a, const Transition& b) { return a.ns > b.ns; });
  return out;
}

struct Entries {
  int64_t count = 0, ns = 0;
};
// By operation and layer.
using EntrySums = std::map<std::pair<uint32_t, int>, Entries>;

EntrySums EntriesOf(const std::vector<Transition>& transitions) {
  EntrySums sums;
  for (const Transition& t : transitions) {
    const bool counts = !t.starts && t.from.operation == t.to.operation;
    for (int layer = 1; layer < trace::kLayerCount; ++layer) {
      const LayerSet bit = Bit(static_cast<trace::Layer>(layer));
      if (!(t.to.layers & bit)) continue;
      Entries& sum = sums[{t.to.operation, layer}];
      sum.ns += t.ns;
      if (counts && !(t.from.layers & bit)) sum.count += t.count;
    }
  }
  return sums;
}

}  // namespace

Table TransitionsTable(const trace::Trace& trace, const Context& context) {
  const Accounting& a = context.Shared<Accounting>();
  const auto operation = [&](const Key& key) {
    return trace.text(a.names.operations[key.operation]);
  };
  TableRows table("transitions", Text("process"), Text("from_operation"), Text("from_layers"),
                  Integer("from_device"), Text("to_operation"), Text("to_layers"),
                  Integer("to_device"), Integer("count"), Integer("ns"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    for (const Transition& t : TransitionsOf(trace, a, p)) {
      table.Add(context.process_label({p}), operation(t.from),
                t.starts ? "(start)" : LayersText(t.from.layers), DeviceBusy(t.from.layers),
                operation(t.to), LayersText(t.to.layers), DeviceBusy(t.to.layers), t.count, t.ns);
    }
  }
  return table.Make();
}

Table LayerEntriesTable(const trace::Trace& trace, const Context& context) {
  const Accounting& a = context.Shared<Accounting>();
  TableRows table("layer_entries", Text("process"), Text("operation"), Text("layer"),
                  Integer("entries"), Integer("ns"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    for (const auto& [key, sum] : EntriesOf(TransitionsOf(trace, a, p))) {
      table.Add(context.process_label({p}), trace.text(a.names.operations[key.first]),
                trace::LayerName(static_cast<trace::Layer>(key.second)), sum.count, sum.ns);
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
