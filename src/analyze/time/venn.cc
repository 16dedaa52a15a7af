#include "src/analyze/time/venn.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"

namespace crosscut::analyze {
namespace {

// Smaller sets first.
std::vector<uint32_t> BySize(const SetSizes& sizes) {
  std::vector<uint32_t> sets;
  for (const auto& [set, ns] : sizes) sets.push_back(set);
  std::stable_sort(sets.begin(), sets.end(),
                   [](uint32_t a, uint32_t b) { return std::popcount(a) < std::popcount(b); });
  return sets;
}

// Host and device as the bits of python and device: their names are told apart below.
constexpr LayerSet kHost = Bit(trace::Layer::kPython);

LayerSet Resources(LayerSet layers) {
  const LayerSet host = (layers & kHostBits) ? kHost : LayerSet{0};
  return static_cast<LayerSet>(host | (layers & kDeviceBit));
}

std::string MembersText(uint32_t set, bool resources) {
  const auto host = static_cast<LayerSet>(set & ~uint32_t{kDeviceBit});
  std::string text = resources ? (host != 0 ? "host" : "") : LayersText(host);
  if (set & kDeviceBit) text = text.empty() ? "device" : "device+" + text;
  return text;
}

SetSizes ExactSizes(const std::vector<Cell>& cells, bool resources) {
  SetSizes exact;
  for (const Cell& cell : cells) {
    const auto active = static_cast<LayerSet>(cell.layers & (kHostBits | kDeviceBit));
    const LayerSet set = resources ? Resources(active) : active;
    if (set != 0 && cell.ns != 0) exact[set] += cell.ns;
  }
  return exact;
}

}  // namespace

SetSizes InclusiveSizes(const SetSizes& exact) {
  SetSizes out;
  for (const auto& [set, ns] : exact) {
    for (uint32_t part = set; part != 0; part = (part - 1) & set) out[part] += ns;
  }
  return out;
}

Table VennTable(const trace::Trace& trace, const Context& context) {
  TableRows table("venn", Text("process"), Text("sets"), Text("members"), Integer("size"),
                  Integer("exact_ns"), Integer("inclusive_ns"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const std::vector<Cell>& cells = context.Shared<Accounting>().processes[p].overlap.cells;
    for (const bool resources : {true, false}) {
      SetSizes exact = ExactSizes(cells, resources);
      const SetSizes inclusive = InclusiveSizes(exact);
      for (const uint32_t set : BySize(inclusive)) {
        table.Add(context.process_label({p}), resources ? "resources" : "layers",
                  MembersText(set, resources), std::popcount(set), exact[set], inclusive.at(set));
      }
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
