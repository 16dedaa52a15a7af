#include "src/compare/step_tables.h"

#include <cmath>
#include <functional>
#include <map>

#include "src/analyze/columns.h"
#include "src/compare/divide.h"

namespace crosscut::compare {
namespace {

using analyze::kMissing;

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

template <class Table>
void AddTimes(Table& table) {
  const auto add = [&](const std::string& what, int64_t PerStep::*ns, bool undisturbed) {
    const auto cell = [=](auto of) {
      return [=](const Row& row) {
        return undisturbed && !row.compared() ? kMissing : of(row.per_step);
      };
    };
    table.Integer(("a_" + what).c_str(), cell([=](const Both<PerStep>& p) { return p.a.*ns; }));
    table.Integer(("b_" + what).c_str(), cell([=](const Both<PerStep>& p) { return p.b.*ns; }));
    table.Integer(("change_" + what).c_str(),
                  cell([=](const Both<PerStep>& p) { return p.b.*ns - p.a.*ns; }));
  };
  add("ns", &PerStep::ns, false);
  add("corrected_ns", &PerStep::corrected_ns, false);
  add("undisturbed_ns", &PerStep::undisturbed_ns, true);
}

// A figure of the change of the row's step or operation; kMissing where it is not compared.
auto FigureOf(const std::function<double(const Change&)>& figure) {
  return [figure](const Row& row) -> int64_t {
    if (!row.compared()) return kMissing;
    return std::llround(
        figure(row.operation == nullptr ? row.role->change.step : row.operation->change));
  };
}
int64_t LowOf(const Row& row) { return FigureOf(&Change::low)(row); }
int64_t HighOf(const Row& row) { return FigureOf(&Change::high)(row); }

// The same of what the operation changed by itself.
auto OwnFigureOf(const std::function<double(const Change&)>& figure) {
  return [figure](const Row& row) -> int64_t {
    return row.operation == nullptr ? kMissing : std::llround(figure(row.operation->own));
  };
}

const std::string& ProcessOf(const Row& row) { return row.role->process; }
const std::string& OperationOf(const Row& row) { return row.key.operation; }

}  // namespace

analyze::Table StepsTable(const std::vector<RoleSteps>& roles) {
  const std::vector<Row> rows =
      Together(AllRows(roles), [](const Row& x, const Row& y) { return x.role == y.role; });
  auto table = analyze::TableOf("diff_steps", rows);
  table.Text("process", ProcessOf)
      .Text("kind", [](const Row& row) { return row.role->kind; })
      .Integer("a_steps", [](const Row& row) { return CountSteps(row.role->runs.a); })
      .Integer("b_steps", [](const Row& row) { return CountSteps(row.role->runs.b); });
  AddTimes(table);
  table.Integer("low_ns", LowOf).Integer("high_ns", HighOf);
  return table.Text("why_not", [](const Row& row) { return row.role->why_not; }).Make();
}

analyze::Table StepOperationsTable(const std::vector<RoleSteps>& roles) {
  std::vector<Row> rows = Together(AllRows(roles), [](const Row& x, const Row& y) {
    return x.role == y.role && x.key.operation == y.key.operation;
  });
  for (Row& row : rows) {
    for (const OperationChange& o : row.role->change.operations) {
      if (o.operation == row.key.operation) row.operation = &o;
    }
  }
  std::map<std::pair<const RoleSteps*, std::string>, std::string> renames;
  for (const RoleSteps& role : roles) {
    for (const Rename& rename : role.renames) {
      renames[{&role, rename.a}] = rename.b;
      renames[{&role, rename.b}] = rename.a;
    }
  }
  auto table = analyze::TableOf("diff_step_operations", rows);
  table.Text("process", ProcessOf).Text("operation", OperationOf);
  AddTimes(table);
  return table.Integer("low_ns", LowOf)
      .Integer("high_ns", HighOf)
      .Integer("own_ns", OwnFigureOf(&Change::ns))
      .Integer("own_low_ns", OwnFigureOf(&Change::low))
      .Integer("own_high_ns", OwnFigureOf(&Change::high))
      .Integer("stands_out",
               [](const Row& row) -> int64_t {
                 return row.operation != nullptr && row.operation->stands_out;
               })
      .Text("found",
            [](const Row& row) {
              return row.per_step.a.ns == 0 && row.per_step.b.ns > 0   ? "B"
                     : row.per_step.b.ns == 0 && row.per_step.a.ns > 0 ? "A"
                                                                       : "both";
            })
      .Text("maybe_renamed",
            [&](const Row& row) {
              return renames[{row.role, row.key.operation}];
            })
      .Make();
}

analyze::Table StepOverlapTable(const std::vector<RoleSteps>& roles) {
  const std::vector<Row> rows = AllRows(roles);
  auto table = analyze::TableOf("diff_step_overlap", rows);
  table.Text("process", ProcessOf)
      .Text("operation", OperationOf)
      .Text("layers", [](const Row& row) { return analyze::LayersText(row.key.layers); })
      .Integer("device",
               [](const Row& row) { return int64_t{analyze::DeviceBusy(row.key.layers)}; });
  AddTimes(table);
  return table.Make();
}

}  // namespace crosscut::compare
