#include "src/compare/step_lines.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "src/analyze/columns.h"
#include "src/analyze/intervals.h"
#include "src/analyze/tables.h"

namespace crosscut::compare {
namespace {

// What samples saw, of a line or of a whole operation.
struct Seen {
  int64_t count = 0, ns = 0;
  void Add(const Seen& more) {
    count += more.count;
    ns += more.ns;
  }
};

using Lines = std::map<std::string, Seen>;

// By operation, of the lead of one process, on one side.
std::map<std::string, Lines> LinesOf(std::span<const Run> runs,
                                     const std::vector<trace::ProcessId>& processes) {
  std::map<std::string, Lines> out;
  for (size_t r = 0; r < runs.size(); ++r) {
    const Run& run = runs[r];
    if (!processes[r].valid()) continue;
    const auto samples = analyze::ComputeTable(*run.trace, *run.context, "samples");
    if (!samples.ok()) continue;
    const std::string& process = run.context->process_label(processes[r]);
    const trace::TrackId lead = run.trace->processes[processes[r].value].lead;
    const std::string& thread = run.context->track_label(lead);
    for (size_t row = 0; row < samples->rows(); ++row) {
      if (samples->texts("process")[row] != process) continue;
      if (samples->texts("thread")[row] != thread) continue;
      out[samples->texts("operation")[row]][samples->texts("own_line")[row]].Add(
          {samples->integers("count")[row], samples->integers("ns")[row]});
    }
  }
  return out;
}

// Nanoseconds of a mean step, and the 95 % interval that samples leave.
struct Part {
  double ns = 0, low = 0, high = 0;
  int64_t samples = 0;
};

Part PartOf(const Lines& lines, const std::string& line, double operation_ns) {
  Seen all;
  for (const auto& [name, seen] : lines) all.Add(seen);
  const auto at = lines.find(line);
  const Seen of = at == lines.end() ? Seen() : at->second;
  if (all.ns <= 0) return {0, 0, operation_ns, 0};
  const double share = static_cast<double>(of.ns) / static_cast<double>(all.ns);
  const auto bounds = analyze::SharesOfDraws(share, static_cast<double>(all.count));
  return {operation_ns * share, operation_ns * bounds.low, operation_ns * bounds.high, of.count};
}

struct Row {
  size_t place;  // of the process
  std::string process, operation, line;
  Both<Part> part;

  double change() const { return part.b.ns - part.a.ns; }
  double low() const {
    return change() - std::hypot(part.b.ns - part.b.low, part.a.high - part.a.ns);
  }
  double high() const {
    return change() + std::hypot(part.b.high - part.b.ns, part.a.ns - part.a.low);
  }
};

void AddRows(const Sides& sides, const Role& role, const analyze::Table& operations, size_t place,
             std::vector<Row>* rows) {
  const Both<std::map<std::string, Lines>> lines = {LinesOf(sides.a, role.processes.a),
                                                    LinesOf(sides.b, role.processes.b)};
  if (lines.a.empty() || lines.b.empty()) return;
  for (size_t row = 0; row < operations.rows(); ++row) {
    const std::string& operation = operations.texts("operation")[row];
    if (operations.texts("process")[row] != role.label) continue;
    const auto ns = [&](const char* column) {
      return static_cast<double>(operations.integers(column)[row]);
    };
    const auto of = [&](const std::map<std::string, Lines>& side) {
      const auto at = side.find(operation);
      return at == side.end() ? Lines() : at->second;
    };
    const Both<Lines> here = {of(lines.a), of(lines.b)};
    Lines all = here.a;
    all.insert(here.b.begin(), here.b.end());
    for (const auto& [line, seen] : all) {
      if (line.empty()) continue;
      rows->push_back({place,
                       role.label,
                       operation,
                       line,
                       {PartOf(here.a, line, ns("a_ns")), PartOf(here.b, line, ns("b_ns"))}});
    }
  }
}

auto Rounded(double (Row::*figure)() const) {
  return [figure](const Row& row) { return std::llround((row.*figure)()); };
}

}  // namespace

analyze::Table StepLinesTable(const Sides& sides, const std::vector<Role>& roles,
                              const std::vector<RoleSteps>& steps) {
  const analyze::Table operations = StepOperationsTable(steps);
  std::vector<Row> rows;
  for (size_t place = 0; place < steps.size(); ++place) {
    const auto role = std::find_if(roles.begin(), roles.end(),
                                   [&](const Role& r) { return r.label == steps[place].process; });
    if (role == roles.end() || !steps[place].why_not.empty()) continue;
    AddRows(sides, *role, operations, place, &rows);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& x, const Row& y) {
    if (x.place != y.place) return x.place < y.place;
    return std::abs(x.change()) > std::abs(y.change());
  });
  return analyze::TableOf("diff_step_lines", rows)
      .Text("process", &Row::process)
      .Text("operation", &Row::operation)
      .Text("line", &Row::line)
      .Integer("a_samples", [](const Row& row) { return row.part.a.samples; })
      .Integer("b_samples", [](const Row& row) { return row.part.b.samples; })
      .Integer("a_ns", [](const Row& row) { return std::llround(row.part.a.ns); })
      .Integer("b_ns", [](const Row& row) { return std::llround(row.part.b.ns); })
      .Integer(
          "change_ns",
          [](const Row& row) { return std::llround(row.part.b.ns) - std::llround(row.part.a.ns); })
      .Integer("low_ns", Rounded(&Row::low))
      .Integer("high_ns", Rounded(&Row::high))
      .Make();
}

}  // namespace crosscut::compare
