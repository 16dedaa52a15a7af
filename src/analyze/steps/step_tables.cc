#include "src/analyze/steps/step_tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"
#include "src/analyze/steps/step_summary.h"

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

struct StepWalls {
  std::vector<StepCell> cells;
  std::vector<size_t> first;
  std::vector<int64_t> wall_ns;
};

StepWalls WallsOf(const trace::Process& process, const ProcessOverlap& overlap) {
  StepWalls out;
  out.cells = ByStep(overlap);
  out.first = FirstCells(process, out.cells);
  out.wall_ns.resize(process.steps.size());
  for (const StepCell& cell : out.cells) out.wall_ns[cell.step] += cell.ns;
  return out;
}

struct Outlier {
  uint32_t step;
  int64_t wall_ns, median_ns;
  LayerSet layers = 0;
  int64_t grew_ns = 0;
};

// The layer set that a step has most more of than the median step of the kind.
void Explain(const StepWalls& walls, const std::map<LayerSet, int64_t>& medians, Outlier& o) {
  for (size_t c = walls.first[o.step]; c < walls.first[o.step + 1]; ++c) {
    const StepCell& cell = walls.cells[c];
    const auto usual = medians.find(cell.layers);
    const int64_t grew = cell.ns - (usual == medians.end() ? 0 : usual->second);
    if (grew > o.grew_ns) o.layers = cell.layers, o.grew_ns = grew;
  }
}

std::map<LayerSet, int64_t> SetMedians(const StepWalls& walls, const std::vector<uint32_t>& steps) {
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

void FindOutliers(const StepWalls& walls, const std::vector<uint32_t>& steps,
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
  const StepWalls walls = WallsOf(process, overlap);
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

void Append(const Integers& more, Integers& all) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

Table StepsTable(const trace::Trace& trace, const Context& context) {
  static constexpr const char* kShares[kShareCount] = {"host_ns", "overlap_ns", "device_ns",
                                                       "idle_ns", "unknown_ns", "control_ns"};
  Texts process, kind;
  Integers step, begin, end, control, level, after, wall, corrected, low, high, open;
  std::array<Integers, kShareCount> shares;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const size_t first = step.size();
    for (const trace::Step& s : trace.processes[p].steps) {
      process.push_back(context.process_label({p}));
      step.push_back(s.number);
      kind.emplace_back(trace.text(s.kind));
      begin.push_back(s.begin_ns);
      end.push_back(s.end_ns);
      control.push_back(s.level == 0);
      level.push_back(s.level);
      after.push_back(s.after_switch);
      open.push_back(s.open);
      wall.push_back(0);
      for (Integers& share : shares) share.push_back(0);
    }
    const ProcessAccount& account = context.Shared<Accounting>().processes[p];
    for (const StepCell& cell : account.overlap.steps) {
      wall[first + cell.step] += cell.ns;
      shares[static_cast<size_t>(ShareOf(cell.layers))][first + cell.step] += cell.ns;
    }
    const trace::Process& owner = trace.processes[p];
    Append(CorrectedSteps(owner, account.overlap, account.estimates.value), corrected);
    Append(CorrectedSteps(owner, account.overlap, account.estimates.high), low);
    Append(CorrectedSteps(owner, account.overlap, account.estimates.low), high);
    for (size_t i = first; i < corrected.size(); ++i) {
      const Bounds bounds = OfUnrecordedRun(corrected[i], {low[i], high[i]}, account.spread);
      low[i] = bounds.low;
      high[i] = bounds.high;
    }
  }
  Table table = MakeTable(
      "steps", MakeColumn("process", process), MakeColumn("step", step), MakeColumn("kind", kind),
      MakeColumn("begin_ns", begin), MakeColumn("end_ns", end), MakeColumn("control", control),
      MakeColumn("level", level), MakeColumn("after_switch", after), MakeColumn("wall_ns", wall));
  for (size_t i = 0; i < kShareCount; ++i) {
    table.columns.push_back(MakeColumn(kShares[i], shares[i]));
  }
  table.columns.push_back(MakeColumn("corrected_ns", corrected));
  table.columns.push_back(MakeColumn("corrected_low_ns", low));
  table.columns.push_back(MakeColumn("corrected_high_ns", high));
  table.columns.push_back(MakeColumn("open", open));
  return table;
}

Table StepLayersTable(const trace::Trace& trace, const Context& context) {
  Texts process, layers;
  Integers step, begin, device, ns;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    for (const StepCell& cell : ByStep(context.Shared<Accounting>().processes[p].overlap)) {
      process.push_back(context.process_label({p}));
      step.push_back(trace.processes[p].steps[cell.step].number);
      begin.push_back(trace.processes[p].steps[cell.step].begin_ns);
      layers.push_back(LayersText(cell.layers));
      device.push_back(DeviceBusy(cell.layers));
      ns.push_back(cell.ns);
    }
  }
  return MakeTable("step_layers", MakeColumn("process", process), MakeColumn("step", step),
                   MakeColumn("begin_ns", begin), MakeColumn("layers", layers),
                   MakeColumn("device", device), MakeColumn("ns", ns));
}

Table OutliersTable(const trace::Trace& trace, const Context& context) {
  Texts process, kind, layers;
  Integers step, begin, wall, median, device, grew;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const trace::Process& owner = trace.processes[p];
    for (const Outlier& o : OutliersOf(owner, context.Shared<Accounting>().processes[p].overlap)) {
      const trace::Step& s = owner.steps[o.step];
      process.push_back(context.process_label({p}));
      step.push_back(s.number);
      kind.emplace_back(trace.text(s.kind));
      begin.push_back(s.begin_ns);
      wall.push_back(o.wall_ns);
      median.push_back(o.median_ns);
      layers.push_back(LayersText(o.layers));
      device.push_back(DeviceBusy(o.layers));
      grew.push_back(o.grew_ns);
    }
  }
  return MakeTable("outliers", MakeColumn("process", process), MakeColumn("step", step),
                   MakeColumn("kind", kind), MakeColumn("begin_ns", begin),
                   MakeColumn("wall_ns", wall), MakeColumn("median_ns", median),
                   MakeColumn("layers", layers), MakeColumn("device", device),
                   MakeColumn("grew_ns", grew));
}

}  // namespace crosscut::analyze
