#include "src/analyze/verdict/part_work.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"
#include "src/analyze/steps/window_parts.h"
#include "src/analyze/verdict/causes.h"

namespace crosscut::analyze {
namespace {

struct WorkRow {
  uint32_t process;
  WindowPart part;
  LayerSet layers;
  std::string work;
  const char* what = "";
  int64_t ns = 0, corrected_ns = 0, samples = kMissing;
};

using LinesByLayer = std::map<trace::Layer, BlamedLines>;

// What samples of the lead saw while this set of layers was active: those in one of its layers; in
// any layer where the set has none that a lead can be in.
BlamedLines SeenIn(LayerSet layers, const LinesByLayer& seen) {
  BlamedLines out;
  const auto host = static_cast<LayerSet>(layers & ~kDeviceBit);
  for (const auto& [layer, lines] : seen) {
    const bool fits = layer == trace::Layer::kNone ? host == 0 : (host & Bit(layer)) != 0;
    if (!fits) continue;
    for (const auto& [line, blamed] : lines) {
      out[line].ns += blamed.ns;
      out[line].samples += blamed.samples;
    }
  }
  return out;
}

// Splits `ns` in proportion to the lines' samples, in their order; whole nanoseconds by largest
// remainder. Requires: there is a line.
std::vector<int64_t> ShareOut(int64_t ns, const BlamedLines& lines) {
  double whole = 0;
  for (const auto& [line, blamed] : lines) whole += static_cast<double>(blamed.samples);
  std::vector<int64_t> out;
  std::vector<std::pair<double, size_t>> remainders;
  int64_t left = ns;
  for (const auto& [line, blamed] : lines) {
    const double exact = static_cast<double>(ns) * static_cast<double>(blamed.samples) / whole;
    out.push_back(std::min(left, static_cast<int64_t>(exact)));
    remainders.emplace_back(static_cast<double>(out.back()) - exact, out.size() - 1);
    left -= out.back();
  }
  std::sort(remainders.begin(), remainders.end());
  for (size_t i = 0; left > 0; ++i, --left) ++out[remainders[i % remainders.size()].second];
  return out;
}

// The rows of a part of a process's window, from its cells and what samples saw outside operations.
class PartRows {
 public:
  PartRows(const trace::Trace& trace, const Accounting& accounting, uint32_t process,
           const LinesByLayer& seen)
      : trace_(trace), names_(accounting.names), process_(process), seen_(seen) {}

  void Add(const Cell& cell, int64_t corrected_ns) {
    WorkRow row = {process_, cell.part, cell.layers, "", "none", cell.ns, corrected_ns};
    if (cell.operation != 0) {
      row.work = trace_.text(names_.operations[cell.operation]);
      row.what = "operation";
    } else if (const BlamedLines lines = SeenIn(cell.layers, seen_); !lines.empty()) {
      return AddLines(row, lines);
    }
    Push(std::move(row));
  }

  // The longest work first.
  std::vector<WorkRow> Finish() {
    std::stable_sort(rows_.begin(), rows_.end(), [&](const WorkRow& a, const WorkRow& b) {
      const int64_t of_a = sums_[KeyOf(a)], of_b = sums_[KeyOf(b)];
      if (of_a != of_b) return of_a > of_b;
      if (KeyOf(a) != KeyOf(b)) return KeyOf(a) < KeyOf(b);
      return a.ns > b.ns;
    });
    return std::move(rows_);
  }

 private:
  using Key = std::pair<std::string, std::string>;
  static Key KeyOf(const WorkRow& row) { return {row.what, row.work}; }

  void AddLines(const WorkRow& like, const BlamedLines& lines) {
    const std::vector<int64_t> ns = ShareOut(like.ns, lines);
    const std::vector<int64_t> corrected = ShareOut(like.corrected_ns, lines);
    size_t i = 0;
    for (const auto& [line, blamed] : lines) {
      WorkRow row = like;
      row.work = trace_.text(line);
      row.what = "line";
      row.ns = ns[i];
      row.corrected_ns = corrected[i++];
      row.samples = 0;
      for (const auto& [layer, of_layer] : seen_) {
        const auto found = of_layer.find(line);
        if (found != of_layer.end()) row.samples += found->second.samples;
      }
      Push(std::move(row));
    }
  }

  void Push(WorkRow row) {
    if (row.ns == 0) return;
    sums_[KeyOf(row)] += row.ns;
    rows_.push_back(std::move(row));
  }

  const trace::Trace& trace_;
  const NameCodes& names_;
  const uint32_t process_;
  const LinesByLayer& seen_;
  std::map<Key, int64_t> sums_;
  std::vector<WorkRow> rows_;
};

}  // namespace

Table PartWorkTable(const trace::Trace& trace, const Context& context) {
  const Accounting& a = context.Shared<Accounting>();
  const Causes& causes = context.Shared<Causes>();
  std::vector<WorkRow> rows;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const ProcessAccount& account = a.processes[p];
    for (size_t part = 0; part < kWindowParts; ++part) {
      PartRows of_part(trace, a, p, causes.processes[p].unnamed[part]);
      for (size_t i = 0; i < account.overlap.cells.size(); ++i) {
        const Cell& cell = account.overlap.cells[i];
        if (static_cast<size_t>(cell.part) != part) continue;
        of_part.Add(cell, account.correction.corrected_ns[i]);
      }
      for (WorkRow& row : of_part.Finish()) rows.push_back(std::move(row));
    }
  }
  return TableOf("part_work", rows)
      .Text("process", [&](const WorkRow& r) { return context.process_label({r.process}); })
      .Text("part", [](const WorkRow& r) { return WindowPartName(r.part); })
      .Text("work", &WorkRow::work)
      .Text("what", &WorkRow::what)
      .Text("layers", [](const WorkRow& r) { return LayersText(r.layers); })
      .Integer("device", [](const WorkRow& r) { return int64_t{DeviceBusy(r.layers)}; })
      .Integer("ns", &WorkRow::ns)
      .Integer("corrected_ns", &WorkRow::corrected_ns)
      .Integer("samples", &WorkRow::samples)
      .Make();
}

}  // namespace crosscut::analyze
