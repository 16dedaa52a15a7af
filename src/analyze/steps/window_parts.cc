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

// Steps of which something lies in the window, by the part that they are in.
int64_t CountSteps(const trace::Process& process, const ProcessOverlap& overlap, WindowPart part) {
  int64_t count = 0;
  uint32_t last = UINT32_MAX;
  for (const StepCell& cell : overlap.steps) {  // those of a step stand together
    if (cell.step != last && PartOf(process.steps[cell.step]) == part) ++count;
    last = cell.step;
  }
  return count;
}

// Cells of the part `steps`, those of the longest operation first.
std::vector<Cell> StepCells(const ProcessAccount& account) {
  std::vector<Cell> cells = CellsByOperation(account);
  std::erase_if(cells, [](const Cell& cell) { return cell.part != WindowPart::kSteps; });
  std::map<uint32_t, int64_t> sums;
  for (const Cell& cell : cells) sums[cell.operation] += cell.ns;
  std::stable_sort(cells.begin(), cells.end(), [&](const Cell& a, const Cell& b) {
    const int64_t of_a = sums[a.operation], of_b = sums[b.operation];
    if (of_a != of_b) return of_a > of_b;
    if (a.operation != b.operation) return a.operation < b.operation;
    return a.ns > b.ns;
  });
  return cells;
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
  const Accounting& a = context.Shared<Accounting>();
  TableRows table("window_parts", Text("process"), Text("part"), Integer("count"),
                  Integer("wall_ns"), Integer("corrected_ns"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const ProcessAccount& account = a.processes[p];
    std::map<WindowPart, std::pair<int64_t, int64_t>> parts;  // wall, corrected
    for (size_t i = 0; i < account.overlap.cells.size(); ++i) {
      const Cell& cell = account.overlap.cells[i];
      auto& [wall_ns, corrected_ns] = parts[cell.part];
      wall_ns += cell.ns;
      corrected_ns += account.correction.corrected_ns[i];
    }
    for (const auto& [part, ns] : parts) {
      int64_t count = kMissing;
      if (part == WindowPart::kSteps || part == WindowPart::kControl ||
          part == WindowPart::kLeftOut) {
        count = CountSteps(trace.processes[p], account.overlap, part);
      } else if (part == WindowPart::kRequests) {
        count = static_cast<int64_t>(a.requests[p].size());
      }
      table.Add(context.process_label({p}), WindowPartName(part), count, ns.first, ns.second);
    }
  }
  return table.Make();
}

Table StepOverlapTable(const trace::Trace& trace, const Context& context) {
  const Accounting& a = context.Shared<Accounting>();
  TableRows table("step_overlap", Text("process"), Text("operation"), Text("layers"),
                  Integer("device"), Integer("ns"), Integer("corrected_ns"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    for (const Cell& cell : StepCells(a.processes[p])) {
      table.Add(context.process_label({p}), trace.text(a.names.operations[cell.operation]),
                LayersText(cell.layers), DeviceBusy(cell.layers), cell.ns, cell.probe_ps);
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
