#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/columns.h"
#include "src/analyze/intervals.h"
#include "src/analyze/quantiles.h"
#include "src/analyze/steps/span_sums.h"
#include "src/analyze/steps/step_classes.h"
#include "src/analyze/steps/tables.h"

namespace crosscut::analyze {
namespace {

using trace::DetailOf;
constexpr int kLevels = trace::kDetails;  // here numbered by how much they show
constexpr int64_t kLeastBlocks = 3;

// By how much the time of a single operator differs between complete recordings of one program in
// one process: a standard deviation of 1.2 to 1.7 % in the median of the ten with most time
// (bench/plans_agree.py, quiet machine).
constexpr double kOperatorRunToRun = 1.96 * 0.015;

struct ProcessSteps {
  std::vector<StepSample> samples;
  StepClasses classes;
};

ProcessSteps StepsOf(const trace::Trace& trace, const Context& context, uint32_t p) {
  const Accounting& a = context.Shared<Accounting>();
  const trace::Process& process = trace.processes[p];
  ProcessSteps out;
  out.samples = SampleSteps(process, a.events[p], a.processes[p].overlap);
  out.classes = ClassifySteps(trace, process, out.samples, a.processes[p].inflation);
  return out;
}

// The steps of one class at one level or above.
struct Base {
  int64_t steps = 0, blocks = 0;
  double squares = 0;  // of the blocks' numbers of steps
};

using ByLevel = std::array<Base, kLevels>;  // [l]: level l and above

std::vector<ByLevel> BasesOf(const SpanSums& sums, size_t classes) {
  std::vector<ByLevel> bases(classes);
  for (const StepCellBlock& block : sums.blocks) {
    for (int level = 0; level <= DetailOf(block.level); ++level) {
      Base& base = bases[block.step_class][level];
      base.steps += block.steps;
      ++base.blocks;
      base.squares += static_cast<double>(block.steps) * static_cast<double>(block.steps);
    }
  }
  return bases;
}

// The lowest level at which spans of one probe and layer are recorded: at lower ones there are less
// than a tenth as many of them per step as above. Not none: some reach over a step's edge.
class LevelsNeeded {
 public:
  explicit LevelsNeeded(const SpanSums& sums) {
    for (const StepCellBlock& block : sums.blocks) steps_[LevelOf(block)] += block.steps;
    for (const SpanName& name : sums.names) {
      std::array<int64_t, kLevels>& counts = counts_[KeyOf(name)];
      for (const SpanSum& s : name.sums) counts[LevelOf(sums.blocks[s.block])] += s.count;
    }
  }

  int Of(const SpanName& name) const {
    const std::array<int64_t, kLevels>& counts = counts_.at(KeyOf(name));
    int needed = 1;
    for (; needed + 1 < kLevels; ++needed) {
      int64_t steps = 0, count = 0;
      for (int above = needed + 1; above < kLevels; ++above) {
        steps += steps_[above];
        count += counts[above];
      }
      const double here = double(counts[needed]) * double(steps);
      if (here >= 0.1 * double(count) * double(steps_[needed]) && steps_[needed] > 0) break;
    }
    return needed;
  }

 private:
  static int LevelOf(const StepCellBlock& block) { return DetailOf(block.level); }
  static uint64_t KeyOf(const SpanName& name) {
    return uint64_t{name.probe.value} << 8 | static_cast<uint64_t>(name.layer);
  }
  std::array<int64_t, kLevels> steps_{};
  std::map<uint64_t, std::array<int64_t, kLevels>> counts_;
};

// One name in the steps of one class.
struct Estimate {
  int64_t count = 0, ns = 0;
  int64_t self_ns = 0, finest_self_ns = 0;  // of the latter, in the steps that show most
  double squares = 0, products = 0;         // of the blocks' ns; of them and the blocks' steps

  void Add(const SpanSum& s, int64_t steps, bool finest) {
    const auto y = static_cast<double>(s.ns);
    if (finest) finest_self_ns += s.self_ns;
    count += s.count;
    ns += s.ns;
    self_ns += s.self_ns;
    squares += y * y;
    products += y * static_cast<double>(steps);
  }

  // Half of the 95 % interval of ns per step. The mean of blocks drawn anew has this error in the
  // limit of many draws; no draws are needed. One block less is free: few sums that are skewed
  // spread less than they would.
  double HalfWidth(const Base& base) const {
    const auto n = static_cast<double>(base.steps), b = static_cast<double>(base.blocks);
    const double mean = static_cast<double>(ns) / n;
    const double residual = squares - 2 * mean * products + mean * mean * base.squares;
    const double error = std::sqrt(std::max(0.0, residual)) / n;
    return Combined(StudentFactor(b - 2) * error, kOperatorRunToRun * mean);
  }
};

struct Row {
  uint32_t step_class;
  const SpanName* name;
  int level;
  Base base;
  Estimate estimate;
  int64_t of_steps;
  int64_t finest_steps;  // of the class, at the level that shows most

  // What a call called in turn shows at that level only.
  double SelfPerStep() const {
    const int64_t ns = finest_steps > 0 ? estimate.finest_self_ns : estimate.self_ns;
    const int64_t steps = finest_steps > 0 ? finest_steps : base.steps;
    return static_cast<double>(ns) / static_cast<double>(steps);
  }
};

std::vector<Row> RowsOf(const SpanSums& sums, const StepClasses& classes) {
  const std::vector<ByLevel> bases = BasesOf(sums, classes.classes.size());
  std::vector<int64_t> of_steps(classes.classes.size());
  for (const uint32_t c : classes.of_step) {
    if (c != StepClasses::kNone) ++of_steps[c];
  }
  const LevelsNeeded needed(sums);
  int finest = 1;
  for (const SpanName& name : sums.names) {
    if (!name.sums.empty()) finest = std::max(finest, needed.Of(name));
  }
  std::vector<Row> rows;
  for (const SpanName& name : sums.names) {
    if (name.sums.empty()) continue;
    const int level = needed.Of(name);
    std::map<uint32_t, Estimate> estimates;
    for (const SpanSum& s : name.sums) {
      const StepCellBlock& block = sums.blocks[s.block];
      const int shown = DetailOf(block.level);
      if (shown < level) continue;
      estimates[block.step_class].Add(s, block.steps, shown >= finest);
    }
    for (const auto& [c, estimate] : estimates) {
      const int64_t finest_steps = bases[c][finest].steps;
      rows.push_back({c, &name, level, bases[c][level], estimate, of_steps[c], finest_steps});
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    if (a.of_steps != b.of_steps) return a.of_steps > b.of_steps;
    if (a.step_class != b.step_class) return a.step_class < b.step_class;
    return a.SelfPerStep() > b.SelfPerStep();
  });
  return rows;
}

}  // namespace

Table StepOperatorsTable(const trace::Trace& trace, const Context& context) {
  const Accounting& a = context.Shared<Accounting>();
  TableRows table("step_operators", Text("process"), Text("kind"), Text("layer"), Text("name"),
                  Text("level"), Integer("steps"), Integer("of_steps"), Integer("blocks"),
                  Real("count_per_step"), Integer("per_step_ns"), Integer("low_ns"),
                  Integer("high_ns"), Integer("self_per_step_ns"), Integer("total_ns"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    if (trace.processes[p].steps.empty()) continue;
    const ProcessSteps steps = StepsOf(trace, context, p);
    const SpanSums sums =
        SumSpans(trace, a.tracks[p], trace.processes[p], steps.samples, steps.classes);
    for (const Row& row : RowsOf(sums, steps.classes)) {
      const auto n = static_cast<double>(row.base.steps);
      const double mean = static_cast<double>(row.estimate.ns) / n;
      const bool known = row.base.blocks >= kLeastBlocks;
      const double half = known ? row.estimate.HalfWidth(row.base) : 0;
      table.Add(context.process_label({p}), steps.classes.classes[row.step_class].name,
                trace::LayerName(row.name->layer), trace.text(row.name->text),
                trace::StepLevelName(trace::LevelOfDetail(row.level)), row.base.steps, row.of_steps,
                row.base.blocks, static_cast<double>(row.estimate.count) / n, std::llround(mean),
                known ? std::max<int64_t>(0, std::llround(mean - half)) : kMissing,
                known ? std::llround(mean + half) : kMissing, std::llround(row.SelfPerStep()),
                std::llround(mean * static_cast<double>(row.of_steps)));
    }
  }
  return table.Make();
}

Table StepKindsTable(const trace::Trace& trace, const Context& context) {
  static constexpr std::array<const char*, kLevels> kCounts = {
      "control_steps", "marks_steps", "boundary_steps", "operator_steps", "everything_steps"};
  TableRows table("step_kinds", Text("process"), Text("kind"), Integer("steps"),
                  Several<Integer>(kCounts), Integer("median_ns"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const ProcessSteps of = StepsOf(trace, context, p);
    const size_t n = of.classes.classes.size();
    std::vector<std::array<int64_t, kLevels>> counts(n);
    std::vector<Integers> walls(n);
    for (size_t s = 0; s < of.samples.size(); ++s) {
      const uint32_t c = of.classes.of_step[s];
      if (c == StepClasses::kNone) continue;
      ++counts[c][DetailOf(of.samples[s].level)];
      walls[c].push_back(of.samples[s].ns);
    }
    for (size_t c = 0; c < n; ++c) {
      if (walls[c].empty()) continue;
      table.Add(context.process_label({p}), of.classes.classes[c].name, walls[c].size(), counts[c],
                Quantile(walls[c], 50));
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
