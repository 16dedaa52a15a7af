#include "src/analyze/steps/step_summary.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <utility>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"
#include "src/analyze/quantiles.h"

namespace crosscut::analyze {
namespace {

int64_t Percentile(const std::vector<uint32_t>& sorted, const std::vector<int64_t>& wall_ns,
                   size_t percent) {
  return sorted.empty() ? kMissing : wall_ns[sorted[RankOf(sorted.size(), percent)]];
}

}  // namespace

std::vector<uint32_t> AtUsualLevel(const trace::Process& process,
                                   const std::vector<uint32_t>& steps) {
  std::array<std::vector<uint32_t>, trace::kDetails> levels;
  for (const uint32_t s : steps) {
    levels[static_cast<size_t>(trace::DetailOf(process.steps[s].level))].push_back(s);
  }
  return *std::max_element(levels.begin(), levels.end(),
                           [](const auto& a, const auto& b) { return a.size() < b.size(); });
}

int64_t Median(std::vector<int64_t> values) {
  return values.empty() ? 0 : Quantile(std::move(values), 50);
}

UsualLength UsualLengthOf(std::vector<int64_t> lengths_ns) {
  const int64_t median = Median(lengths_ns);
  for (int64_t& length : lengths_ns) length = std::abs(length - median);
  return {median, median + std::max(5 * Median(std::move(lengths_ns)), median / 10)};
}

std::vector<int64_t> StepWalls(const trace::Process& process, const ProcessOverlap& overlap) {
  std::vector<int64_t> out(process.steps.size());
  for (const StepCell& cell : overlap.steps) out[cell.step] += cell.ns;
  return out;
}

std::vector<ComparedSteps> CompareSteps(const trace::Process& process,
                                        const std::vector<int64_t>& wall_ns) {
  std::vector<ComparedSteps> out;
  std::map<uint32_t, size_t> index;
  std::vector<std::vector<uint32_t>> switched;
  for (uint32_t s = 0; s < process.steps.size(); ++s) {
    const trace::Step& step = process.steps[s];
    const auto [at, added] = index.try_emplace(step.kind.value, out.size());
    if (added) out.push_back({step.kind, 0, 0, 0, {}, {}, {}}), switched.emplace_back();
    ComparedSteps& kind = out[at->second];
    if (wall_ns[s] == 0) continue;  // paused from its begin to its end
    kind.control += step.control();
    kind.left_out += step.left_out();
    kind.recorded += step.profiled();
    if (step.open) continue;
    kind.whole.push_back(s);
    if (!step.profiled()) continue;
    (step.after_switch ? switched[at->second] : kind.steps).push_back(s);
  }
  for (size_t k = 0; k < out.size(); ++k) {
    if (out[k].steps.empty()) out[k].steps = std::move(switched[k]);
    std::stable_sort(out[k].steps.begin(), out[k].steps.end(),
                     [&](uint32_t a, uint32_t b) { return wall_ns[a] < wall_ns[b]; });
    out[k].usual = AtUsualLevel(process, out[k].steps);
  }
  return out;
}

double CorrectedNs(const trace::Step& step, const StepCell& of, const Estimate& estimate) {
  Cell cell = {0, of.layers, of.ns, of.probe_ps, step.after_switch ? of.ns : 0};
  cell.part = step.control() ? WindowPart::kControl : WindowPart::kSteps;
  cell.control = step.control();
  cell.unswitched_ps = of.unswitched_ps;
  return static_cast<double>(of.ns) - CostNs(estimate, cell);
}

Table StepSummaryTable(const trace::Trace& trace, const Context& context) {
  TableRows table("step_summary", Text("process"), Text("kind"), Integer("steps"),
                  Integer("control_steps"), Integer("marks_steps"), Integer("median_ns"),
                  Integer("p10_ns"), Integer("p90_ns"), Integer("min_ns"), Integer("max_ns"),
                  Integer("slowest_step"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const trace::Process& owner = trace.processes[p];
    const std::vector<int64_t> walls =
        StepWalls(owner, context.Shared<Accounting>().processes[p].overlap);
    for (const ComparedSteps& of_kind : CompareSteps(owner, walls)) {
      table.Add(context.process_label({p}), trace.text(of_kind.kind), of_kind.recorded,
                of_kind.control, of_kind.left_out, Percentile(of_kind.usual, walls, 50),
                Percentile(of_kind.usual, walls, 10), Percentile(of_kind.usual, walls, 90),
                Percentile(of_kind.usual, walls, 0), Percentile(of_kind.steps, walls, 100),
                of_kind.steps.empty() ? kMissing : owner.steps[of_kind.steps.back()].number);
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
