#include "src/analyze/timeline/timeline_steps.h"

#include <algorithm>
#include <utility>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/steps/step_classes.h"
#include "src/analyze/steps/step_summary.h"

namespace crosscut::analyze {
namespace {

constexpr size_t kMoreSlow = 4, kSpread = 8;

class Ranking {
 public:
  explicit Ranking(const Context& context, const trace::Process& process)
      : context_(context), process_(process), taken_(process.steps.size()) {}

  void Take(uint32_t step, const std::string& why, bool asked = false) {
    if (taken_[step]) return;
    taken_[step] = true;
    const trace::Step& s = process_.steps[step];
    const std::string kind(context_.trace().text(s.kind));
    out_.push_back({step,
                    (kind.empty() ? "step" : kind) + " " + std::to_string(s.number) + ", " + why,
                    asked});
  }
  // The middle of `steps`, the shortest first, among those that were recorded with most.
  void TakeTypical(const std::vector<uint32_t>& steps, const std::string& why) {
    int most = 0;
    for (const uint32_t s : steps) most = std::max(most, trace::DetailOf(process_.steps[s].level));
    TakeTypicalAt(trace::LevelOfDetail(most), steps, why);
  }
  void TakeTypicalAt(uint8_t level, const std::vector<uint32_t>& steps, const std::string& why) {
    std::vector<uint32_t> at_level;
    for (const uint32_t s : steps) {
      if (process_.steps[s].level == level) at_level.push_back(s);
    }
    if (!at_level.empty()) Take(at_level[at_level.size() / 2], why);
  }
  std::vector<KeptStep> Finish() { return std::move(out_); }

 private:
  const Context& context_;
  const trace::Process& process_;
  std::vector<bool> taken_;
  std::vector<KeptStep> out_;
};

// A typical step of each class but a kind's main one, which has the kind's name.
void TakeClasses(const Context& context, uint32_t index, Ranking& ranking) {
  const Accounting& a = context.Shared<Accounting>();
  const trace::Process& process = context.trace().processes[index];
  const auto samples = SampleSteps(process, a.events[index], a.processes[index].overlap);
  const StepClasses classes =
      ClassifySteps(context.trace(), process, samples, a.processes[index].inflation);
  std::vector<std::vector<uint32_t>> steps(classes.classes.size());
  for (uint32_t s = 0; s < process.steps.size(); ++s) {
    const uint32_t c = classes.of_step[s];
    if (c != StepClasses::kNone && process.steps[s].profiled()) steps[c].push_back(s);
  }
  for (size_t c = 0; c < steps.size(); ++c) {
    const StepClass& of = classes.classes[c];
    const size_t kind = context.trace().text(of.kind).size();
    if (of.name.size() == kind) continue;
    std::stable_sort(steps[c].begin(), steps[c].end(),
                     [&](uint32_t x, uint32_t y) { return samples[x].ns < samples[y].ns; });
    ranking.TakeTypical(steps[c], of.name.substr(kind + 2));  // behind ", "
  }
}

}  // namespace

std::vector<KeptStep> RankSteps(const Context& context, uint32_t index,
                                std::span<const int64_t> asked) {
  const trace::Process& process = context.trace().processes[index];
  Ranking ranking(context, process);
  for (uint32_t s = 0; s < process.steps.size(); ++s) {
    const bool wanted =
        std::find(asked.begin(), asked.end(), process.steps[s].number) != asked.end();
    if (wanted) ranking.Take(s, "asked for", true);
  }
  std::vector<ComparedSteps> kinds = CompareSteps(
      process, StepWalls(process, context.Shared<Accounting>().processes[index].overlap));
  std::erase_if(kinds, [](const ComparedSteps& kind) { return kind.steps.empty(); });
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& x, const auto& y) { return x.steps.size() > y.steps.size(); });
  for (const ComparedSteps& kind : kinds) {
    ranking.TakeTypical(kind.steps, "typical");
    ranking.Take(kind.steps.back(), "slowest");
  }
  for (const ComparedSteps& kind : kinds) {
    ranking.TakeTypicalAt(3, kind.steps, "typical of those with everything");
    ranking.TakeTypicalAt(2, kind.steps, "typical of those with operators");
    ranking.TakeTypicalAt(1, kind.steps, "typical of those with the boundary only");
  }
  TakeClasses(context, index, ranking);
  for (const ComparedSteps& kind : kinds) {
    const size_t n = kind.steps.size();
    for (size_t i = 0; i < kMoreSlow && i < n / 4; ++i) {
      ranking.Take(kind.steps[n - 1 - i], "among the slowest");
    }
    std::vector<uint32_t> in_order = kind.usual;
    std::sort(in_order.begin(), in_order.end());
    for (size_t i = 0; i < kSpread && !in_order.empty(); ++i) {
      ranking.Take(in_order[i * (in_order.size() - 1) / (kSpread - 1)], "one of many");
    }
  }
  return ranking.Finish();
}

}  // namespace crosscut::analyze
