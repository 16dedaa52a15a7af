#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"
#include "src/analyze/steps/step_summary.h"
#include "src/analyze/steps/tables.h"

namespace crosscut::analyze {
namespace {

constexpr size_t kMaxOutliers = 50;

// Where the cells of each step stand: [first[i], first[i + 1]) of `cells`.
std::vector<size_t> FirstCells(const trace::Process& process, const std::vector<StepCell>& cells) {
  std::vector<size_t> first(process.steps.size() + 1);
  for (const StepCell& cell : cells) ++first[cell.step + 1];
  for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  return first;
}

// A cell for each step and layer set, all operations together, by step: steps of one process may
// stand in any order of time.
std::vector<StepCell> ByStep(const ProcessOverlap& overlap) {
  std::vector<StepCell> cells = overlap.steps;
  std::stable_sort(cells.begin(), cells.end(),
                   [](const StepCell& a, const StepCell& b) { return a.step < b.step; });
  std::vector<StepCell> out;
  std::map<LayerSet, size_t> places;  // of the step's cells in `out`
  for (const StepCell& cell : cells) {
    if (!out.empty() && out.back().step != cell.step) places.clear();
    const auto [place, fresh] = places.try_emplace(cell.layers, out.size());
    if (fresh) {
      out.push_back({cell.step, 0, cell.layers, 0, 0});
    }
    out[place->second].ns += cell.ns;
    out[place->second].probe_ps += cell.probe_ps;
    out[place->second].unswitched_ps += cell.unswitched_ps;
  }
  return out;
}

struct StepCells {
  std::vector<StepCell> cells;
  std::vector<size_t> first;
  std::vector<int64_t> wall_ns;
};

StepCells CellsOf(const trace::Process& process, const ProcessOverlap& overlap) {
  StepCells out;
  out.cells = ByStep(overlap);
  out.first = FirstCells(process, out.cells);
  out.wall_ns = StepWalls(process, overlap);
  return out;
}

struct Outlier {
  uint32_t step;
  int64_t wall_ns, median_ns;
  LayerSet layers = 0;
  int64_t grew_ns = 0;
};

// The layer set that a step has most more of than the median step of the kind.
void Explain(const StepCells& walls, const std::map<LayerSet, int64_t>& medians, Outlier& o) {
  for (size_t c = walls.first[o.step]; c < walls.first[o.step + 1]; ++c) {
    const StepCell& cell = walls.cells[c];
    const auto usual = medians.find(cell.layers);
    const int64_t grew = cell.ns - (usual == medians.end() ? 0 : usual->second);
    if (grew > o.grew_ns) o.layers = cell.layers, o.grew_ns = grew;
  }
}

std::map<LayerSet, int64_t> SetMedians(const StepCells& walls, const std::vector<uint32_t>& steps) {
  std::map<LayerSet, std::vector<int64_t>> by_set;
  for (const uint32_t s : steps) {
    for (size_t c = walls.first[s]; c < walls.first[s + 1]; ++c) {
      by_set[walls.cells[c].layers].push_back(walls.cells[c].ns);
    }
  }
  std::map<LayerSet, int64_t> medians;
  for (auto& [set, values] : by_set) {
    values.resize(steps.size());  // absent is 0
    medians[set] = Median(std::move(values));
  }
  return medians;
}

void FindOutliers(const StepCells& walls, const std::vector<uint32_t>& steps,
                  std::vector<Outlier>& out) {
  std::vector<int64_t> values;
  for (const uint32_t s : steps) values.push_back(walls.wall_ns[s]);
  const auto [median, limit] = UsualLengthOf(std::move(values));
  const size_t before = out.size();
  for (const uint32_t s : steps) {
    if (walls.wall_ns[s] > limit) out.push_back({s, walls.wall_ns[s], median});
  }
  if (out.size() == before) return;
  const std::map<LayerSet, int64_t> medians = SetMedians(walls, steps);
  for (size_t i = before; i < out.size(); ++i) Explain(walls, medians, out[i]);
}

std::vector<Outlier> OutliersOf(const trace::Process& process, const ProcessOverlap& overlap) {
  const StepCells walls = CellsOf(process, overlap);
  // Levels differ in what they cost: a step is held against those of its own.
  std::map<std::pair<uint32_t, uint8_t>, std::vector<uint32_t>> kinds;
  for (const ComparedSteps& of_kind : CompareSteps(process, walls.wall_ns)) {
    for (const uint32_t s : of_kind.steps) {
      kinds[{of_kind.kind.value, process.steps[s].level}].push_back(s);
    }
  }
  // Of these the length alone is known.
  for (uint32_t s = 0; s < process.steps.size(); ++s) {
    const trace::Step& step = process.steps[s];
    const bool whole = !step.open && !step.after_switch && walls.wall_ns[s] > 0;
    if (whole && !step.profiled()) kinds[{step.kind.value, step.level}].push_back(s);
  }
  std::vector<Outlier> out;
  for (const auto& [kind, steps] : kinds) {
    if (steps.size() >= 10) FindOutliers(walls, steps, out);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Outlier& a, const Outlier& b) { return a.wall_ns > b.wall_ns; });
  if (out.size() > kMaxOutliers) out.resize(kMaxOutliers);
  return out;
}

// Each step without Crosscut's own cost.
Integers CorrectedSteps(const trace::Process& process, const ProcessOverlap& overlap,
                        const Estimate& estimate) {
  std::vector<double> left(process.steps.size());
  for (const StepCell& cell : overlap.steps) {
    left[cell.step] += CorrectedNs(process.steps[cell.step], cell, estimate);
  }
  Integers out;
  for (const double ns : left) out.push_back(std::llround(std::max(0.0, ns)));
  return out;
}

}  // namespace

Table StepsTable(const trace::Trace& trace, const Context& context) {
  TableRows table("steps", Text("process"), Integer("step"), Text("kind"), Integer("begin_ns"),
                  Integer("end_ns"), Integer("control"), Integer("level"), Integer("after_switch"),
                  Integer("wall_ns"), Several<Integer>(kShareColumns), Integer("corrected_ns"),
                  Integer("corrected_low_ns"), Integer("corrected_high_ns"), Integer("open"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const trace::Process& owner = trace.processes[p];
    const ProcessAccount& account = context.Shared<Accounting>().processes[p];
    const std::vector<int64_t> walls = StepWalls(owner, account.overlap);
    std::vector<Shares> shares(owner.steps.size());
    for (const StepCell& cell : account.overlap.steps) {
      shares[cell.step][static_cast<size_t>(ShareOf(cell.layers))] += cell.ns;
    }
    const Integers corrected = CorrectedSteps(owner, account.overlap, account.estimates.value);
    const Integers low = CorrectedSteps(owner, account.overlap, account.estimates.high);
    const Integers high = CorrectedSteps(owner, account.overlap, account.estimates.low);
    for (size_t i = 0; i < owner.steps.size(); ++i) {
      const trace::Step& s = owner.steps[i];
      const Bounds bounds = OfUnrecordedRun(corrected[i], {low[i], high[i]}, account.spread);
      table.Add(context.process_label({p}), s.number, trace.text(s.kind), s.begin_ns, s.end_ns,
                s.control(), s.level, s.after_switch, walls[i], shares[i], corrected[i], bounds.low,
                bounds.high, s.open);
    }
  }
  return table.Make();
}

Table StepLayersTable(const trace::Trace& trace, const Context& context) {
  TableRows table("step_layers", Text("process"), Integer("step"), Integer("begin_ns"),
                  Text("layers"), Integer("device"), Integer("ns"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    for (const StepCell& cell : ByStep(context.Shared<Accounting>().processes[p].overlap)) {
      table.Add(context.process_label({p}), trace.processes[p].steps[cell.step].number,
                trace.processes[p].steps[cell.step].begin_ns, LayersText(cell.layers),
                DeviceBusy(cell.layers), cell.ns);
    }
  }
  return table.Make();
}

Table OutliersTable(const trace::Trace& trace, const Context& context) {
  TableRows table("outliers", Text("process"), Integer("step"), Text("kind"), Integer("begin_ns"),
                  Integer("wall_ns"), Integer("median_ns"), Text("layers"), Integer("device"),
                  Integer("grew_ns"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const trace::Process& owner = trace.processes[p];
    for (const Outlier& o : OutliersOf(owner, context.Shared<Accounting>().processes[p].overlap)) {
      const trace::Step& s = owner.steps[o.step];
      table.Add(context.process_label({p}), s.number, trace.text(s.kind), s.begin_ns, o.wall_ns,
                o.median_ns, LayersText(o.layers), DeviceBusy(o.layers), o.grew_ns);
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
