#include "src/analyze/verdict/step_contrast.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/collectives/matches.h"
#include "src/analyze/verdict/others_work.h"
#include "src/analyze/verdict/process_lines.h"

namespace crosscut::analyze {
namespace {

// Sums of both sets by key, and the key with most more of a step.
template <class Key>
class Contrast {
 public:
  explicit Contrast(const StepSets& sets)
      : more_(static_cast<double>(sets.more.size())),
        usual_(static_cast<double>(sets.usual.size())) {}
  void Add(const Key& key, bool more, int64_t ns) {
    (more ? sums_[key].first : sums_[key].second) += static_cast<double>(ns);
  }
  // Calls text(key) for its name. `which`, if not null, is set to the key where there is one.
  template <class Text>
  MoreWork Top(Text text, Key* which = nullptr) const {
    const Key* top = nullptr;
    MoreWork best;
    for (const auto& [key, sums] : sums_) {
      const MoreWork one = {"", sums.first / more_, sums.second / usual_};
      if (top == nullptr || one.extra_ns() > best.extra_ns()) top = &key, best = one;
    }
    if (top != nullptr) best.what = text(*top);
    if (top != nullptr && which != nullptr) *which = *top;
    return best;
  }

 private:
  double more_, usual_;
  std::map<Key, std::pair<double, double>> sums_;
};

// When the lead waited at a line, in steps of each set.
struct Waits {
  std::vector<trace::Interval> more, usual;
};

// Of the lines at which other processes work meanwhile.
MoreWork WorkOfOthers(const Context& context, const StepSets& sets, const Waits& waits) {
  if (waits.more.empty() || !SharesClock(context.trace())) return {};
  const auto& others = context.Shared<RelativesWork>();
  Contrast<Line> contrast(sets);
  for (const bool more : {true, false}) {
    const OthersWork work = others.In({sets.process}, more ? waits.more : waits.usual);
    for (const auto& [line, blamed] : work.lines) {
      if (line.kind == LineKind::kOwn) contrast.Add(line, more, blamed.ns);
    }
  }
  return contrast.Top([&](const Line& line) { return LineText(context.trace(), line); });
}

}  // namespace

MoreWork OperationWithMore(const Context& context, const StepSets& sets) {
  const Accounting& accounting = context.Shared<Accounting>();
  Contrast<uint32_t> contrast(sets);
  for (const StepCell& cell : accounting.processes[sets.process].overlap.steps) {
    const bool more = sets.more.contains(cell.step);
    if (more || sets.usual.contains(cell.step)) contrast.Add(cell.operation, more, cell.ns);
  }
  return contrast.Top([&](uint32_t operation) {
    return std::string(context.trace().text(accounting.names.operations[operation]));
  });
}

MoreWork LineWithMore(const Context& context, const StepSets& sets) {
  const trace::Trace& trace = context.trace();
  const trace::Process& owner = trace.processes[sets.process];
  if (owner.lead.value >= trace.tracks.size() ||
      context.Shared<ThreadFacts>().samples[owner.lead.value].empty()) {
    return {};
  }
  std::vector<uint32_t> order(sets.more.begin(), sets.more.end());
  order.insert(order.end(), sets.usual.begin(), sets.usual.end());
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return owner.steps[a].begin_ns < owner.steps[b].begin_ns;
  });
  std::vector<trace::Interval> times;
  for (const uint32_t step : order) {
    times.push_back({owner.steps[step].begin_ns, owner.steps[step].end_ns});
  }
  Contrast<Line> contrast(sets);
  std::map<Line, Waits> waits;
  ForEachOfLead(context, {sets.process}, times,
                [&](const LineStretch& stretch, const trace::Interval& part, size_t i) {
                  if (stretch.line.kind != LineKind::kOwn) return;
                  const bool more = sets.more.contains(order[i]);
                  contrast.Add(stretch.line, more, part.end_ns - part.begin_ns);
                  Waits& of_line = waits[stretch.line];
                  if (WaitsForOthers(stretch)) Extend(part, more ? &of_line.more : &of_line.usual);
                });
  Line top;
  const MoreWork leads =
      contrast.Top([&](const Line& line) { return LineText(trace, line); }, &top);
  // It waited there for what others did.
  const MoreWork others = WorkOfOthers(context, sets, waits[top]);
  const bool is_theirs = others.extra_ns() > 0 && 2 * others.extra_ns() >= leads.extra_ns();
  return is_theirs ? others : leads;
}

}  // namespace crosscut::analyze
