#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "src/analyze/columns.h"
#include "src/analyze/intervals.h"
#include "src/compare/moved_lines.h"
#include "src/compare/tables.h"
#include "src/trace/samples.h"
#include "src/trace/spans_around.h"

namespace crosscut::compare {
namespace {

using analyze::Integer;
using analyze::Text;

// What samples saw, of a line or of a whole operation.
struct Seen {
  int64_t count = 0, ns = 0;
  void Add(const Seen& more) {
    count += more.count;
    ns += more.ns;
  }
};

using Lines = std::map<std::string, Seen>;

// By operation, what samples saw of a process's lead in its compared steps.
void AddLines(const Run& run, trace::ProcessId process, const RoleSteps& role,
              const RunSteps& compared, std::map<std::string, Lines>* out) {
  const trace::Trace& trace = *run.trace;
  const trace::SampleReader reader(trace.strings);
  const trace::TrackId lead = trace.processes[process.value].lead;
  if (!reader.any() || lead.value >= trace.tracks.size()) return;
  const trace::Track& track = trace.tracks[lead.value];
  const trace::OpenSpans open(track.spans);
  trace::SpansAround operations(trace, [&](trace::TrackId, trace::SpanIndex span) {
    return trace.name(track.spans.name[span]).kind == trace::Kind::kOperation;
  });
  const std::vector<trace::Step>& steps = trace.processes[process.value].steps;
  auto step = compared.steps.begin();
  reader.ForEach(trace, track, [&](int64_t at, const trace::Sample& sample) {
    while (step != compared.steps.end() && steps[step->index].end_ns <= at) ++step;
    const bool in_step = step != compared.steps.end() && steps[step->index].begin_ns <= at;
    if (!in_step || sample.thread != 0) return;
    std::string operation;
    const trace::SpanIndex span = operations.Of(lead, open.InnermostAt(at));
    if (span != trace::kNoSpan && !role.as_a_whole) {
      operation = trace.name_text(track.spans.name[span]);
    }
    (*out)[operation][std::string(trace.text(sample.own_line))].Add({1, sample.covers_ns});
  });
}

// On one side.
std::map<std::string, Lines> LinesOf(std::span<const Run> runs,
                                     const std::vector<trace::ProcessId>& processes,
                                     const RoleSteps& role, const std::vector<RunSteps>& compared) {
  std::map<std::string, Lines> out;
  for (size_t r = 0; r < runs.size(); ++r) {
    if (processes[r].valid()) AddLines(runs[r], processes[r], role, compared[r], &out);
  }
  return out;
}

// Nanoseconds of a mean step, and the 95 % interval that samples leave.
struct Part {
  double ns = 0, low = 0, high = 0;
  int64_t samples = 0;
};

Seen SumOf(const Lines& lines) {
  Seen all;
  for (const auto& [name, seen] : lines) all.Add(seen);
  return all;
}

// `all`: what samples saw of all of them. `line`: "" is none of them.
Part PartOf(const Lines& lines, const Seen& all, const std::string& line, double operation_ns) {
  const auto at = line.empty() ? lines.end() : lines.find(line);
  const Seen of = at == lines.end() ? Seen() : at->second;
  if (all.ns <= 0) return {0, 0, operation_ns, 0};
  const double share = static_cast<double>(of.ns) / static_cast<double>(all.ns);
  const auto bounds = analyze::SharesOfDraws(share, static_cast<double>(all.count));
  return {operation_ns * share, operation_ns * bounds.low, operation_ns * bounds.high, of.count};
}

// What each of the program's lines takes of a mean step.
std::map<std::string, double> TimesOf(const Lines& lines, const Seen& all, double operation_ns) {
  std::map<std::string, double> out;
  for (const auto& [line, seen] : lines) {
    if (!line.empty()) out[line] = PartOf(lines, all, line, operation_ns).ns;
  }
  return out;
}

struct Row {
  const RoleSteps* steps;
  std::string operation;
  SameLine line;
  Both<Part> part;

  double change() const { return part.b.ns - part.a.ns; }
  double low() const {
    return change() - std::hypot(part.b.ns - part.b.low, part.a.high - part.a.ns);
  }
  double high() const {
    return change() + std::hypot(part.b.high - part.b.ns, part.a.ns - part.a.low);
  }
};

// The rows of diff_step_operations, and which are of a process and a kind.
struct Operations {
  analyze::Table table;
  std::map<std::pair<std::string_view, std::string_view>, std::vector<size_t>> rows_of;

  explicit Operations(const std::vector<RoleSteps>& steps) : table(StepOperationsTable(steps)) {
    for (size_t row = 0; row < table.rows(); ++row) {
      rows_of[{table.texts("process")[row], table.texts("kind")[row]}].push_back(row);
    }
  }
};

void AddRows(const Sides& sides, const Role& role, const RoleSteps& steps, Operations* operations,
             std::vector<Row>* rows) {
  const Both<std::map<std::string, Lines>> lines = {
      LinesOf(sides.a, role.processes.a, steps, steps.runs.a),
      LinesOf(sides.b, role.processes.b, steps, steps.runs.b)};
  if (lines.a.empty() || lines.b.empty()) return;
  for (const size_t row : operations->rows_of[{role.label, steps.kind}]) {
    const std::string& operation = operations->table.texts("operation")[row];
    const auto ns = [&](const char* column) {
      return static_cast<double>(operations->table.integers(column)[row]);
    };
    const auto of = [&](const std::map<std::string, Lines>& side) {
      const auto at = side.find(operation);
      return at == side.end() ? Lines() : at->second;
    };
    const Both<Lines> here = {of(lines.a), of(lines.b)};
    const Both<Seen> all = {SumOf(here.a), SumOf(here.b)};
    const bool unseen_in_a = all.a.ns <= 0 && ns("a_ns") > 0;
    const bool unseen_in_b = all.b.ns <= 0 && ns("b_ns") > 0;
    if (unseen_in_a || unseen_in_b) continue;
    for (SameLine& line :
         MatchLines({TimesOf(here.a, all.a, ns("a_ns")), TimesOf(here.b, all.b, ns("b_ns"))})) {
      const Both<Part> part = {PartOf(here.a, all.a, line.a, ns("a_ns")),
                               PartOf(here.b, all.b, line.b, ns("b_ns"))};
      rows->push_back({&steps, operation, std::move(line), part});
    }
  }
}

}  // namespace

analyze::Table StepLinesTable(const Sides& sides, const std::vector<Role>& roles,
                              const std::vector<RoleSteps>& steps) {
  Operations operations(steps);
  std::vector<Row> rows;
  const RolesByLabel by_label(roles);
  for (const RoleSteps& of_role : steps) {
    const Role* const role = by_label.Find(of_role.process);
    if (role == nullptr || !of_role.why_not.empty()) continue;
    AddRows(sides, *role, of_role, &operations, &rows);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& x, const Row& y) {
    if (x.steps != y.steps) return x.steps < y.steps;  // in their order
    return std::abs(x.change()) > std::abs(y.change());
  });
  analyze::TableRows table("diff_step_lines", Text("process"), Text("operation"), Text("line"),
                           Integer("a_samples"), Integer("b_samples"), Integer("a_ns"),
                           Integer("b_ns"), Integer("change_ns"), Integer("low_ns"),
                           Integer("high_ns"), Text("kind"), Text("a_line"));
  for (const Row& row : rows) {
    const int64_t a_ns = std::llround(row.part.a.ns), b_ns = std::llround(row.part.b.ns);
    const auto& [in_a, in_b] = row.line;
    const bool moved = !in_a.empty() && !in_b.empty() && in_a != in_b;
    table.Add(row.steps->process, row.operation, in_b.empty() ? in_a : in_b, row.part.a.samples,
              row.part.b.samples, a_ns, b_ns, b_ns - a_ns, std::llround(row.low()),
              std::llround(row.high()), row.steps->kind, moved ? in_a : "");
  }
  return table.Make();
}

}  // namespace crosscut::compare
