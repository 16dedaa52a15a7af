#include "src/analyze/time/venn.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"

namespace crosscut::analyze {
namespace {

bool Contains(uint32_t set, uint32_t part) { return (set & part) == part; }

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

struct VennRow {
  uint32_t process;
  bool resources;
  uint32_t set;
  int64_t exact_ns, inclusive_ns;
};

void AddRows(const std::vector<Cell>& cells, uint32_t process, bool resources,
             std::vector<VennRow>& rows) {
  SetSizes exact;
  for (const Cell& cell : cells) {
    const auto active = static_cast<LayerSet>(cell.layers & (kHostBits | kDeviceBit));
    const LayerSet set = resources ? Resources(active) : active;
    if (set != 0 && cell.ns != 0) exact[set] += cell.ns;
  }
  const SetSizes inclusive = InclusiveSizes(exact);
  for (const uint32_t set : BySize(inclusive)) {
    const auto found = exact.find(set);
    rows.push_back(
        {process, resources, set, found == exact.end() ? 0 : found->second, inclusive.at(set)});
  }
}

}  // namespace

SetSizes InclusiveSizes(const SetSizes& exact) {
  SetSizes out;
  for (const auto& [set, ns] : exact) {
    for (uint32_t part = set; part != 0; part = (part - 1) & set) out[part] += ns;
  }
  return out;
}

SetSizes ExactSizes(const SetSizes& inclusive) {
  std::vector<uint32_t> sets = BySize(inclusive);
  std::reverse(sets.begin(), sets.end());
  SetSizes out;
  for (const uint32_t part : sets) {
    int64_t ns = inclusive.at(part);
    for (const auto& [set, exact] : out) {
      if (Contains(set, part)) ns -= exact;
    }
    if (ns != 0) out[part] = ns;
  }
  return out;
}

Table VennTable(const trace::Trace& trace, const Context& context) {
  std::vector<VennRow> rows;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const std::vector<Cell>& cells = context.Shared<Accounting>().processes[p].overlap.cells;
    AddRows(cells, p, true, rows);
    AddRows(cells, p, false, rows);
  }
  return TableOf("venn", rows)
      .Text("process", [&](const VennRow& r) { return context.process_label({r.process}); })
      .Text("sets", [](const VennRow& r) { return r.resources ? "resources" : "layers"; })
      .Text("members", [](const VennRow& r) { return MembersText(r.set, r.resources); })
      .Integer("size", [](const VennRow& r) { return std::popcount(r.set); })
      .Integer("exact_ns", &VennRow::exact_ns)
      .Integer("inclusive_ns", &VennRow::inclusive_ns)
      .Make();
}

}  // namespace crosscut::analyze
