#include "src/compare/window_tables.h"

#include <map>
#include <string>
#include <tuple>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"
#include "src/analyze/steps/window_parts.h"
#include "src/compare/divide.h"

namespace crosscut::compare {
namespace {

using PartKey = std::pair<analyze::WindowPart, std::string>;  // with an operation
using Parts = std::map<PartKey, int64_t>;

struct Side {
  int64_t runs = 0;
  std::string process;
  Parts parts;  // the mean of the runs
};

Side SideOf(std::span<const Run> runs, const std::vector<trace::ProcessId>& processes) {
  Side out;
  for (size_t r = 0; r < runs.size(); ++r) {
    if (!processes[r].valid()) continue;
    if (out.runs++ == 0) out.process = runs[r].context->process_label(processes[r]);
    const auto& accounting = runs[r].context->Shared<analyze::Accounting>();
    for (const analyze::Cell& cell : accounting.processes[processes[r].value].overlap.cells) {
      const trace::StringId text = accounting.names.operations[cell.operation];
      out.parts[{cell.part, std::string(runs[r].trace->text(text))}] += cell.ns;
    }
  }
  std::vector<int64_t> sums;
  for (const auto& [key, ns] : out.parts) sums.push_back(ns);
  if (out.runs > 1) sums = DivideExactly(sums, out.runs);
  size_t i = 0;
  for (auto& [key, ns] : out.parts) ns = sums[i++];
  return out;
}

struct PartRow {
  std::string process, operation;
  analyze::WindowPart part;
  Both<int64_t> ns;
};

struct ProcessRow {
  std::string process;
  Both<Side> sides;
  Both<int64_t> ns;
};

std::vector<PartRow> PartRows(const Sides& sides, const Role& role) {
  std::map<PartKey, Both<int64_t>> all;
  for (const auto& [key, ns] : SideOf(sides.a, role.processes.a).parts) all[key].a = ns;
  for (const auto& [key, ns] : SideOf(sides.b, role.processes.b).parts) all[key].b = ns;
  std::vector<PartRow> out;
  for (const auto& [key, ns] : all) out.push_back({role.label, key.second, key.first, ns});
  return out;
}

int64_t SumOf(const Parts& parts) {
  int64_t sum = 0;
  for (const auto& [key, ns] : parts) sum += ns;
  return sum;
}

}  // namespace

analyze::Table ProcessesTable(const Sides& sides, const std::vector<Role>& roles) {
  std::vector<ProcessRow> rows;
  for (const Role& role : roles) {
    ProcessRow row{
        role.label, {SideOf(sides.a, role.processes.a), SideOf(sides.b, role.processes.b)}, {}};
    row.ns = {SumOf(row.sides.a.parts), SumOf(row.sides.b.parts)};
    rows.push_back(std::move(row));
  }
  return analyze::TableOf("diff_processes", rows)
      .Text("process", &ProcessRow::process)
      .Integer("a_runs", [](const ProcessRow& row) { return row.sides.a.runs; })
      .Integer("b_runs", [](const ProcessRow& row) { return row.sides.b.runs; })
      .Text("a_process", [](const ProcessRow& row) { return row.sides.a.process; })
      .Text("b_process", [](const ProcessRow& row) { return row.sides.b.process; })
      .Integer("a_window_ns", [](const ProcessRow& row) { return row.ns.a; })
      .Integer("b_window_ns", [](const ProcessRow& row) { return row.ns.b; })
      .Integer("change_ns", [](const ProcessRow& row) { return row.ns.b - row.ns.a; })
      .Make();
}

analyze::Table WindowTable(const Sides& sides, const std::vector<Role>& roles) {
  std::vector<PartRow> rows;
  for (const Role& role : roles) {
    for (PartRow& row : PartRows(sides, role)) rows.push_back(std::move(row));
  }
  return analyze::TableOf("diff_window", rows)
      .Text("process", &PartRow::process)
      .Text("part", [](const PartRow& row) { return analyze::WindowPartName(row.part); })
      .Text("operation", &PartRow::operation)
      .Integer("a_ns", [](const PartRow& row) { return row.ns.a; })
      .Integer("b_ns", [](const PartRow& row) { return row.ns.b; })
      .Integer("change_ns", [](const PartRow& row) { return row.ns.b - row.ns.a; })
      .Make();
}

}  // namespace crosscut::compare
