#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"
#include "src/analyze/steps/window_parts.h"
#include "src/analyze/verdict/causes.h"
#include "src/analyze/verdict/tables.h"

namespace crosscut::analyze {
namespace {

struct WorkRow {
  uint32_t process;
  WindowPart part;
  LayerSet layers;
  std::string work;
  const char* what = "";
  int64_t ns = 0, corrected_ns = 0;
  int64_t low_ns = kMissing, high_ns = kMissing, samples = kMissing;
};

// Splits `ns` as the lines' time, in their order; whole nanoseconds by largest remainder. Requires:
// a line has time.
std::vector<int64_t> Corrected(int64_t ns, const BlamedLines& lines) {
  double whole = 0;
  for (const auto& [line, blamed] : lines) whole += static_cast<double>(blamed.ns);
  std::vector<int64_t> out;
  std::vector<std::pair<double, size_t>> remainders;
  int64_t left = ns;
  for (const auto& [line, blamed] : lines) {
    const double exact = static_cast<double>(ns) * static_cast<double>(blamed.ns) / whole;
    out.push_back(std::min(left, static_cast<int64_t>(exact)));
    remainders.emplace_back(static_cast<double>(out.back()) - exact, out.size() - 1);
    left -= out.back();
  }
  std::sort(remainders.begin(), remainders.end());
  for (size_t i = 0; left > 0; ++i, --left) ++out[remainders[i % remainders.size()].second];
  return out;
}

// The rows of a part of a process's window, from its cells and the lines outside operations.
class PartRows {
 public:
  PartRows(const trace::Trace& trace, const Accounting& accounting, uint32_t process,
           const std::map<LayerSet, BlamedLines>& lines)
      : trace_(trace), names_(accounting.names), process_(process), lines_(lines) {}

  void Add(const Cell& cell, int64_t corrected_ns) {
    part_ = cell.part;
    if (cell.operation == 0) {
      unnamed_corrected_[cell.layers] += corrected_ns;
      return;
    }
    WorkRow row = {process_, part_, cell.layers, "", "operation", cell.ns, corrected_ns};
    row.work = trace_.text(names_.operations[cell.operation]);
    Push(std::move(row));
  }

  // The longest work first.
  std::vector<WorkRow> Finish() {
    for (const auto& [layers, corrected_ns] : unnamed_corrected_) AddLines(layers, corrected_ns);
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

  void AddLines(LayerSet layers, int64_t corrected_ns) {
    const auto of_layers = lines_.find(layers);
    if (of_layers == lines_.end()) return;  // cells of no time
    const std::vector<int64_t> corrected = Corrected(corrected_ns, of_layers->second);
    int64_t whole = 0;
    for (const auto& [line, blamed] : of_layers->second) whole += blamed.ns;
    size_t i = 0;
    for (const auto& [line, blamed] : of_layers->second) {
      WorkRow row = {
          process_,  part_,         layers, LineText(trace_, line), LineKindName(line.kind),
          blamed.ns, corrected[i++]};
      if (IsSampled(line.kind)) {
        const LineBounds bounds = LineBoundsOf(blamed, whole);
        row.samples = blamed.samples;
        row.low_ns = bounds.low_ns;
        row.high_ns = bounds.high_ns;
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
  const std::map<LayerSet, BlamedLines>& lines_;
  WindowPart part_ = WindowPart::kWhole;
  std::map<LayerSet, int64_t> unnamed_corrected_;
  std::map<Key, int64_t> sums_;
  std::vector<WorkRow> rows_;
};

}  // namespace

Table PartWorkTable(const trace::Trace& trace, const Context& context) {
  const Accounting& a = context.Shared<Accounting>();
  const Causes& causes = context.Shared<Causes>();
  TableRows table("part_work", Text("process"), Text("part"), Text("work"), Text("what"),
                  Text("layers"), Integer("device"), Integer("ns"), Integer("corrected_ns"),
                  Integer("samples"), Integer("low_ns"), Integer("high_ns"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const std::vector<Cell> cells = CellsByOperation(a.processes[p]);
    for (size_t part = 0; part < kWindowParts; ++part) {
      PartRows of_part(trace, a, p, causes.processes[p].unnamed[part]);
      for (const Cell& cell : cells) {
        if (static_cast<size_t>(cell.part) == part) of_part.Add(cell, cell.probe_ps);
      }
      for (const WorkRow& r : of_part.Finish()) {
        table.Add(context.process_label({p}), WindowPartName(r.part), r.work, r.what,
                  LayersText(r.layers), DeviceBusy(r.layers), r.ns, r.corrected_ns, r.samples,
                  r.low_ns, r.high_ns);
      }
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
