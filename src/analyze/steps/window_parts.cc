#include "src/analyze/steps/window_parts.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"

namespace crosscut::analyze {
namespace {

struct PartRow {
  uint32_t process;
  WindowPart part;
  int64_t count = kMissing, wall_ns = 0, corrected_ns = 0;
};

// Steps of which something lies in the window, by the part that they are in.
int64_t CountSteps(const trace::Process& process, const ProcessOverlap& overlap, WindowPart part) {
  int64_t count = 0;
  uint32_t last = UINT32_MAX;
  for (const StepCell& cell : overlap.steps) {  // those of a step stand together
    const trace::Step& step = process.steps[cell.step];
    const WindowPart of = step.profiled()   ? WindowPart::kSteps
                          : step.left_out() ? WindowPart::kLeftOut
                                            : WindowPart::kControl;
    if (cell.step != last && of == part) ++count;
    last = cell.step;
  }
  return count;
}

struct StepRow {
  uint32_t process, operation;
  LayerSet layers;
  int64_t ns, corrected_ns;
};

// Cells of the part `steps`, those of the longest operation first.
void AppendStepRows(const ProcessAccount& account, uint32_t process, std::vector<StepRow>& rows) {
  std::map<uint32_t, int64_t> sums;
  const auto first = static_cast<ptrdiff_t>(rows.size());
  for (const Cell& cell : CellsByOperation(account)) {
    if (cell.part != WindowPart::kSteps) continue;
    rows.push_back({process, cell.operation, cell.layers, cell.ns, cell.probe_ps});
    sums[cell.operation] += cell.ns;
  }
  std::stable_sort(rows.begin() + first, rows.end(), [&](const StepRow& a, const StepRow& b) {
    const int64_t of_a = sums[a.operation], of_b = sums[b.operation];
    if (of_a != of_b) return of_a > of_b;
    if (a.operation != b.operation) return a.operation < b.operation;
    return a.ns > b.ns;
  });
}

}  // namespace

const char* WindowPartName(WindowPart part) {
  constexpr std::array<const char*, kWindowParts> kNames = {
      "whole window",  "start-up",         "steps",
      "control steps", "left-out steps",   "between steps",
      "requests",      "between requests", "shutdown"};
  return kNames[static_cast<size_t>(part)];
}

Table WindowPartsTable(const trace::Trace& trace, const Context& context) {
  std::vector<PartRow> rows;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const ProcessAccount& account = context.Shared<Accounting>().processes[p];
    std::array<PartRow, kWindowParts> parts{};
    std::array<bool, kWindowParts> there{};
    for (size_t i = 0; i < account.overlap.cells.size(); ++i) {
      const Cell& cell = account.overlap.cells[i];
      const auto part = static_cast<size_t>(cell.part);
      there[part] = true;
      parts[part].wall_ns += cell.ns;
      parts[part].corrected_ns += account.correction.corrected_ns[i];
    }
    for (size_t part = 0; part < kWindowParts; ++part) {
      if (!there[part]) continue;
      PartRow& row = rows.emplace_back(parts[part]);
      row.process = p;
      row.part = static_cast<WindowPart>(part);
      const bool steps = row.part == WindowPart::kSteps || row.part == WindowPart::kControl ||
                         row.part == WindowPart::kLeftOut;
      row.count = steps ? CountSteps(trace.processes[p], account.overlap, row.part) : kMissing;
      if (row.part == WindowPart::kRequests) {
        row.count = static_cast<int64_t>(context.Shared<Accounting>().requests[p].size());
      }
    }
  }
  return TableOf("window_parts", rows)
      .Text("process", [&](const PartRow& r) { return context.process_label({r.process}); })
      .Text("part", [](const PartRow& r) { return WindowPartName(r.part); })
      .Integer("count", &PartRow::count)
      .Integer("wall_ns", &PartRow::wall_ns)
      .Integer("corrected_ns", &PartRow::corrected_ns)
      .Make();
}

Table StepOverlapTable(const trace::Trace& trace, const Context& context) {
  const Accounting& a = context.Shared<Accounting>();
  std::vector<StepRow> rows;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) AppendStepRows(a.processes[p], p, rows);
  return TableOf("step_overlap", rows)
      .Text("process", [&](const StepRow& r) { return context.process_label({r.process}); })
      .Text("operation",
            [&](const StepRow& r) { return trace.text(a.names.operations[r.operation]); })
      .Text("layers", [](const StepRow& r) { return LayersText(r.layers); })
      .Integer("device", [](const StepRow& r) { return int64_t{DeviceBusy(r.layers)}; })
      .Integer("ns", &StepRow::ns)
      .Integer("corrected_ns", &StepRow::corrected_ns)
      .Make();
}

}  // namespace crosscut::analyze
