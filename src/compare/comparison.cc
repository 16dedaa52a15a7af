#include "src/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>

#include "src/analyze/columns.h"
#include "src/compare/comparable.h"
#include "src/compare/tables.h"

namespace crosscut::compare {
namespace {

bool HaveOperations(const std::vector<RunSteps>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const RunSteps& run) {
    return std::any_of(run.keys.begin(), run.keys.end(),
                       [](const StepKey& key) { return !key.operation.empty(); });
  });
}

// Files of other tools may state no operations at all: what the other side spends in its own is no
// change then, and steps are compared as a whole.
bool LeaveOutOperations(Both<std::vector<RunSteps>>* runs) {
  if (HaveOperations(runs->a) == HaveOperations(runs->b)) return false;
  for (auto* side : {&runs->a, &runs->b}) {
    for (RunSteps& run : *side) {
      for (StepKey& key : run.keys) key.operation.clear();
    }
  }
  return true;
}

RoleSteps CompareKind(const Sides& sides, const Role& role, const std::string& kind) {
  RoleSteps out;
  out.process = role.label;
  out.kind = kind;
  out.runs = CompareSteps(sides, role, out.kind);
  out.why_not = WhyNotCompared(out.runs);
  if (!out.why_not.empty()) return out;
  out.as_a_whole = LeaveOutOperations(&out.runs);
  for (const RunSteps& run : out.runs.a) out.undisturbed.a.push_back(MeasureUndisturbed(run));
  for (const RunSteps& run : out.runs.b) out.undisturbed.b.push_back(MeasureUndisturbed(run));
  out.change = CompareSteps(out.undisturbed.a, out.undisturbed.b);
  out.renames = RenamesOf(out.change, out.runs, out.undisturbed);
  // Beside what recording itself cost.
  if (out.change.step.a <= 0 || out.change.step.b <= 0) {
    out.why_not = std::string(out.change.step.a <= 0 ? "A" : "B") + "'s steps take no time";
  }
  return out;
}

bool IsThere(const std::vector<trace::ProcessId>& processes) {
  return std::any_of(processes.begin(), processes.end(),
                     [](trace::ProcessId process) { return process.valid(); });
}

// Those of the kind that takes most time first; the other kinds, too, where these can be compared.
std::vector<RoleSteps> CompareRole(const Sides& sides, const Role& role) {
  std::vector<RoleSteps> out;
  const std::vector<std::string> kinds = KindsOf(sides, role);
  for (const std::string& kind : kinds) {
    out.push_back(CompareKind(sides, role, kind));
    if (!out.front().why_not.empty()) break;
  }
  if (kinds.empty()) {
    out.emplace_back().process = role.label;
    const bool a = IsThere(role.processes.a), b = IsThere(role.processes.b);
    out.back().why_not = a && b ? "A and B have no kind of step in common"
                                : std::string(a ? "B" : "A") + " has no process like " + role.label;
  }
  for (RoleSteps& of_kind : out) of_kind.has_several = out.size() > 1;
  return out;
}

// Of its steps in all runs, whether they are compared or not; nothing where it has none.
std::optional<int64_t> TimeOf(const Sides& sides, const Role& role) {
  std::optional<int64_t> sum;
  const auto add = [&](std::span<const Run> runs, const std::vector<trace::ProcessId>& processes) {
    for (size_t r = 0; r < runs.size(); ++r) {
      if (!processes[r].valid()) continue;
      for (const trace::Step& step : runs[r].trace->processes[processes[r].value].steps) {
        sum = sum.value_or(0) + (step.end_ns - step.begin_ns);
      }
    }
  };
  add(sides.a, role.processes.a);
  add(sides.b, role.processes.b);
  return sum;
}

// What the order of roles and kinds goes by. Ranks take about the same time, and any of them may be
// the one that became slower: among those that take half of the longest time at least, the one with
// most to tell is first: of its step, else of an operation. Of those that are not compared nothing
// is told.
std::tuple<bool, double, bool> WeightOf(const RoleSteps& role) {
  if (!role.why_not.empty()) return {role.takes_long, -1, false};
  const Change& step = role.change.step;
  const auto& operations = role.change.operations;
  const bool stands_out =
      std::any_of(operations.begin(), operations.end(), [](const auto& o) { return o.stands_out; });
  return {role.takes_long, step.told() ? std::abs(std::log(step.b / step.a)) : 0, stands_out};
}

// The processes that have steps, by kind of step, the main one first.
std::vector<RoleSteps> CompareRoles(const Sides& sides, const std::vector<Role>& roles) {
  std::vector<RoleSteps> out;
  std::map<std::string, int64_t> times;  // of all steps, by process
  int64_t longest_ns = 0;
  for (const Role& role : roles) {
    const std::optional<int64_t> ns = TimeOf(sides, role);
    if (!ns) continue;
    longest_ns = std::max(longest_ns, times[role.label] = *ns);
    std::vector<RoleSteps> kinds = CompareRole(sides, role);
    std::move(kinds.begin(), kinds.end(), std::back_inserter(out));
  }
  for (RoleSteps& of : out) of.takes_long = times[of.process] >= longest_ns - times[of.process];
  std::stable_sort(out.begin(), out.end(), [](const RoleSteps& x, const RoleSteps& y) {
    return WeightOf(x) > WeightOf(y);
  });
  return out;
}

std::string WhyNot(const Sides& sides, const std::vector<RoleSteps>& steps,
                   const analyze::Table& inputs) {
  if (steps.empty()) {
    return "neither A nor B has steps; crosscut.step() at the begin of each pass of the main loop "
           "marks them";
  }
  if (const std::string why = WhyNotCompared(sides); !why.empty()) return why;
  if (!steps.front().why_not.empty()) return steps.front().why_not;
  return WhyNotCompared(inputs);
}

analyze::Table VerdictTable(const Answer& c) {
  const auto share = [&](double value) {
    return c.result != Answer::Result::kNotCompared ? value : NAN;
  };
  analyze::TableRows table("diff_verdict", analyze::Text("result"), analyze::Text("headline"),
                           analyze::Real("change_share"), analyze::Real("low_share"),
                           analyze::Real("high_share"), analyze::Text("why_not"));
  table.Add(NameOf(c.result), c.headline, share(c.change), share(c.low), share(c.high), c.why_not);
  return table.Make();
}

}  // namespace

const analyze::Table* Comparison::Find(std::string_view name) const {
  const auto at = std::find_if(tables.begin(), tables.end(),
                               [&](const analyze::Table& table) { return table.name == name; });
  return at == tables.end() ? nullptr : &*at;
}

Comparison Compare(const Sides& sides) {
  Comparison out;
  const std::vector<Role> roles = MatchRoles(sides);
  const std::vector<RoleSteps> steps = CompareRoles(sides, roles);
  if (!roles.empty()) {
    out.title = roles.front().label;
    out.differences = Differences(sides, roles.front());
  }
  if (!steps.empty() && steps.front().as_a_whole) {
    out.differences.emplace_back(
        "operations: one side states none, so steps are compared as a whole");
  }
  out.tables = {StepsTable(steps),
                StepOperationsTable(steps),
                StepOverlapTable(steps),
                ProcessesTable(sides, roles),
                WindowTable(sides, roles),
                StepCountsTable(sides, roles, steps),
                StepNamesTable(sides, roles, steps),
                StepLinesTable(sides, roles, steps)};
  for (analyze::Table& table : KeyedTables(sides)) out.tables.push_back(std::move(table));
  const std::string why_not = WhyNot(sides, steps, *out.Find("diff_inputs"));
  out.answer = why_not.empty() ? AnswerOf(steps) : NotCompared(why_not);
  out.tables.insert(out.tables.begin(), VerdictTable(out.answer));
  return out;
}

}  // namespace crosscut::compare
