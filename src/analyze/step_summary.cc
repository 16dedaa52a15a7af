#include "src/analyze/step_summary.h"

#include <algorithm>
#include <array>
#include <map>

#include "src/analyze/columns.h"
#include "src/analyze/step_tables.h"

namespace crosscut::analyze {
namespace {

struct Summary {
  std::array<std::vector<int64_t>, 4> walls;  // of recorded steps, by level
  int64_t control = 0;

  // Of the level that most of them have: levels differ in what they cost.
  std::vector<int64_t>& usual() {
    return *std::max_element(walls.begin(), walls.end(),
                             [](const auto& a, const auto& b) { return a.size() < b.size(); });
  }
  int64_t steps() const {
    size_t n = 0;
    for (const std::vector<int64_t>& of_level : walls) n += of_level.size();
    return static_cast<int64_t>(n);
  }
};

int64_t Percentile(const std::vector<int64_t>& sorted, size_t percent) {
  if (sorted.empty()) return kMissing;
  const size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[rank == 0 ? 0 : rank - 1];
}

}  // namespace

Table StepSummaryTable(const trace::Trace& trace, const Context& context) {
  const Table steps = StepsTable(trace, context);
  const Integers& walls = steps.integers("wall_ns");
  std::vector<std::pair<std::string, std::string>> order;
  std::map<std::pair<std::string, std::string>, Summary> sums;
  size_t row = 0;
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    for (const trace::Step& step : trace.processes[p].steps) {
      const auto key =
          std::make_pair(context.process_label({p}), std::string(trace.text(step.kind)));
      const auto [at, added] = sums.try_emplace(key);
      if (added) order.push_back(key);
      const bool cut_off = step.end_ns >= trace.processes[p].end_ns;
      if (step.level == 0)
        ++at->second.control;
      else if (!cut_off)
        at->second.walls[std::min<size_t>(step.level, 3)].push_back(walls[row]);
      ++row;
    }
  }
  Texts process, kind;
  Integers count, control, median, p10, p90, min, max;
  for (const auto& key : order) {
    Summary& sum = sums[key];
    std::vector<int64_t>& usual = sum.usual();
    std::sort(usual.begin(), usual.end());
    process.push_back(key.first);
    kind.push_back(key.second);
    count.push_back(sum.steps());
    control.push_back(sum.control);
    median.push_back(Percentile(usual, 50));
    p10.push_back(Percentile(usual, 10));
    p90.push_back(Percentile(usual, 90));
    min.push_back(Percentile(usual, 0));
    max.push_back(Percentile(usual, 100));
  }
  return MakeTable("step_summary", MakeColumn("process", process), MakeColumn("kind", kind),
                   MakeColumn("steps", count), MakeColumn("control_steps", control),
                   MakeColumn("median_ns", median), MakeColumn("p10_ns", p10),
                   MakeColumn("p90_ns", p90), MakeColumn("min_ns", min), MakeColumn("max_ns", max));
}

}  // namespace crosscut::analyze
