#include "src/compare/step_tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "src/analyze/columns.h"
#include "src/compare/divide.h"

namespace crosscut::compare {
namespace {

using analyze::Integer;
using analyze::kMissing;
using analyze::Several;
using analyze::Text;

// Nanoseconds per step on one side.
struct PerStep {
  int64_t ns = 0, corrected_ns = 0, undisturbed_ns = 0;
  PerStep& operator+=(const PerStep& more) {
    ns += more.ns;
    corrected_ns += more.corrected_ns;
    undisturbed_ns += more.undisturbed_ns;
    return *this;
  }
};

struct Row {
  const RoleSteps* role = nullptr;
  StepKey key;
  Both<PerStep> per_step;
  const OperationChange* operation = nullptr;

  bool compared() const { return role->why_not.empty(); }
};

int64_t CountSteps(const std::vector<RunSteps>& runs) {
  int64_t count = 0;
  for (const RunSteps& run : runs) count += static_cast<int64_t>(run.steps.size());
  return count;
}

// The steps of all runs of one side together, by key.
std::map<StepKey, PerStep> Split(const std::vector<RunSteps>& runs,
                                 const std::vector<Undisturbed>& undisturbed) {
  struct Sums {
    int64_t ns = 0;
    double corrected = 0, undisturbed = 0;
  };
  std::map<StepKey, Sums> sums;  // in an order that does not depend on the side
  for (size_t r = 0; r < runs.size(); ++r) {
    const RunSteps& run = runs[r];
    for (const StepPart& part : run.parts) {
      Sums& of = sums[run.keys[part.key]];
      of.ns += part.ns;
      of.corrected += part.corrected_ns;
    }
    for (size_t k = 0; k < run.keys.size() && r < undisturbed.size(); ++k) {
      sums[run.keys[k]].undisturbed += undisturbed[r].by_key[k];
    }
  }
  std::vector<int64_t> ns, corrected;
  for (const auto& [key, of] : sums) {
    ns.push_back(of.ns);
    corrected.push_back(std::max<int64_t>(0, std::llround(of.corrected)));
  }
  const int64_t steps = std::max<int64_t>(1, CountSteps(runs));
  ns = DivideExactly(ns, steps);
  corrected = DivideExactly(corrected, steps);
  std::map<StepKey, PerStep> out;
  size_t i = 0;
  for (const auto& [key, of] : sums) {
    const double undisturbed_ns = of.undisturbed / static_cast<double>(runs.size());
    out[key] = {ns[i], corrected[i], std::llround(undisturbed_ns)};
    ++i;
  }
  return out;
}

// By operation and layers, in that order.
std::vector<Row> Rows(const RoleSteps& role) {
  std::map<StepKey, Row> rows;
  for (const auto& [key, per_step] : Split(role.runs.a, role.undisturbed.a)) {
    rows[key].per_step.a = per_step;
  }
  for (const auto& [key, per_step] : Split(role.runs.b, role.undisturbed.b)) {
    rows[key].per_step.b = per_step;
  }
  std::vector<Row> out;
  for (auto& [key, row] : rows) {
    row.role = &role;
    row.key = key;
    out.push_back(row);
  }
  return out;
}

// One row for all that `same` takes together; rows that it does must stand together.
std::vector<Row> Together(const std::vector<Row>& rows,
                          const std::function<bool(const Row&, const Row&)>& same) {
  std::vector<Row> out;
  for (const Row& row : rows) {
    if (out.empty() || !same(out.back(), row)) {
      out.push_back(row);
      continue;
    }
    out.back().per_step.a += row.per_step.a;
    out.back().per_step.b += row.per_step.b;
  }
  return out;
}

std::vector<Row> AllRows(const std::vector<RoleSteps>& roles) {
  std::vector<Row> out;
  for (const RoleSteps& role : roles) {
    for (Row& row : Rows(role)) out.push_back(std::move(row));
  }
  return out;
}

constexpr const char* kTimes[] = {"a_ns",
                                  "b_ns",
                                  "change_ns",
                                  "a_corrected_ns",
                                  "b_corrected_ns",
                                  "change_corrected_ns",
                                  "a_undisturbed_ns",
                                  "b_undisturbed_ns",
                                  "change_undisturbed_ns"};

std::array<int64_t, std::size(kTimes)> TimesOf(const Row& row) {
  const PerStep &a = row.per_step.a, &b = row.per_step.b;
  std::array<int64_t, std::size(kTimes)> times = {a.ns,
                                                  b.ns,
                                                  b.ns - a.ns,
                                                  a.corrected_ns,
                                                  b.corrected_ns,
                                                  b.corrected_ns - a.corrected_ns,
                                                  a.undisturbed_ns,
                                                  b.undisturbed_ns,
                                                  b.undisturbed_ns - a.undisturbed_ns};
  const bool has_a = CountSteps(row.role->runs.a) > 0, has_b = CountSteps(row.role->runs.b) > 0;
  const std::array<bool, 3> known = {has_a, has_b, has_a && has_b};
  for (size_t i = 0; i < times.size(); ++i) {
    if (!known[i % 3] || (i >= 6 && !row.compared())) times[i] = kMissing;
  }
  return times;
}

// A figure of the change of the row's step or operation; kMissing where it is not compared.
template <class Figure>
int64_t FigureOf(const Row& row, Figure figure) {
  if (!row.compared()) return kMissing;
  const Change& change = row.operation == nullptr ? row.role->change.step : row.operation->change;
  return std::llround(std::invoke(figure, change));
}

// The same of what the operation changed by itself.
template <class Figure>
int64_t OwnFigureOf(const Row& row, Figure figure) {
  return row.operation == nullptr ? kMissing
                                  : std::llround(std::invoke(figure, row.operation->own));
}

}  // namespace

analyze::Table StepsTable(const std::vector<RoleSteps>& roles) {
  analyze::TableRows table("diff_steps", Text("process"), Text("kind"), Integer("a_steps"),
                           Integer("b_steps"), Several<Integer>(kTimes), Integer("low_ns"),
                           Integer("high_ns"), Text("why_not"));
  for (const RoleSteps& role : roles) {
    Row row = {&role, {}, {}, nullptr};
    for (const Row& part : Rows(role)) {
      row.per_step.a += part.per_step.a;
      row.per_step.b += part.per_step.b;
    }
    table.Add(role.process, role.kind, CountSteps(role.runs.a), CountSteps(role.runs.b),
              TimesOf(row), FigureOf(row, &Change::low), FigureOf(row, &Change::high),
              role.why_not);
  }
  return table.Make();
}

analyze::Table StepOperationsTable(const std::vector<RoleSteps>& roles) {
  std::vector<Row> rows = Together(AllRows(roles), [](const Row& x, const Row& y) {
    return x.role == y.role && x.key.operation == y.key.operation;
  });
  std::map<std::pair<const RoleSteps*, std::string_view>, const OperationChange*> changes;
  for (const RoleSteps& role : roles) {
    for (const OperationChange& o : role.change.operations) changes[{&role, o.operation}] = &o;
  }
  for (Row& row : rows) {
    const auto change = changes.find({row.role, row.key.operation});
    if (change != changes.end()) row.operation = change->second;
  }
  std::map<std::pair<const RoleSteps*, std::string>, std::string> renames;
  for (const RoleSteps& role : roles) {
    for (const Rename& rename : role.renames) {
      renames[{&role, rename.a}] = rename.b;
      renames[{&role, rename.b}] = rename.a;
    }
  }
  analyze::TableRows table("diff_step_operations", Text("process"), Text("operation"),
                           Several<Integer>(kTimes), Integer("low_ns"), Integer("high_ns"),
                           Integer("own_ns"), Integer("own_low_ns"), Integer("own_high_ns"),
                           Integer("stands_out"), Text("found"), Text("maybe_renamed"),
                           Text("kind"));
  for (const Row& row : rows) {
    const int64_t a_ns = row.per_step.a.ns, b_ns = row.per_step.b.ns;
    const char* found = a_ns == 0 && b_ns > 0 ? "B" : b_ns == 0 && a_ns > 0 ? "A" : "both";
    table.Add(row.role->process, row.key.operation, TimesOf(row), FigureOf(row, &Change::low),
              FigureOf(row, &Change::high), OwnFigureOf(row, &Change::ns),
              OwnFigureOf(row, &Change::low), OwnFigureOf(row, &Change::high),
              row.operation != nullptr && row.operation->stands_out, found,
              renames[{row.role, row.key.operation}], row.role->kind);
  }
  return table.Make();
}

analyze::Table StepOverlapTable(const std::vector<RoleSteps>& roles) {
  analyze::TableRows table("diff_step_overlap", Text("process"), Text("operation"), Text("layers"),
                           Integer("device"), Several<Integer>(kTimes), Text("kind"));
  for (const Row& row : AllRows(roles)) {
    table.Add(row.role->process, row.key.operation, analyze::LayersText(row.key.layers),
              analyze::DeviceBusy(row.key.layers), TimesOf(row), row.role->kind);
  }
  return table.Make();
}

}  // namespace crosscut::compare
