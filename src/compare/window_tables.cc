#include <map>
#include <string>
#include <tuple>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"
#include "src/analyze/steps/window_parts.h"
#include "src/compare/divide.h"
#include "src/compare/tables.h"

namespace crosscut::compare {
namespace {

using analyze::Integer;
using analyze::Text;
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

int64_t SumOf(const Parts& parts) {
  int64_t sum = 0;
  for (const auto& [key, ns] : parts) sum += ns;
  return sum;
}

}  // namespace

analyze::Table ProcessesTable(const Sides& sides, const std::vector<Role>& roles) {
  analyze::TableRows table("diff_processes", Text("process"), Integer("a_runs"), Integer("b_runs"),
                           Text("a_process"), Text("b_process"), Integer("a_window_ns"),
                           Integer("b_window_ns"), Integer("change_ns"));
  for (const Role& role : roles) {
    const Side a = SideOf(sides.a, role.processes.a), b = SideOf(sides.b, role.processes.b);
    const int64_t of_a = SumOf(a.parts), of_b = SumOf(b.parts);
    table.Add(role.label, a.runs, b.runs, a.process, b.process, of_a, of_b, of_b - of_a);
  }
  return table.Make();
}

analyze::Table WindowTable(const Sides& sides, const std::vector<Role>& roles) {
  analyze::TableRows table("diff_window", Text("process"), Text("part"), Text("operation"),
                           Integer("a_ns"), Integer("b_ns"), Integer("change_ns"));
  for (const Role& role : roles) {
    std::map<PartKey, Both<int64_t>> all;
    for (const auto& [key, ns] : SideOf(sides.a, role.processes.a).parts) all[key].a = ns;
    for (const auto& [key, ns] : SideOf(sides.b, role.processes.b).parts) all[key].b = ns;
    for (const auto& [key, ns] : all) {
      table.Add(role.label, analyze::WindowPartName(key.first), key.second, ns.a, ns.b,
                ns.b - ns.a);
    }
  }
  return table.Make();
}

}  // namespace crosscut::compare
