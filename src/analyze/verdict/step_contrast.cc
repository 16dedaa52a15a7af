#include "src/analyze/verdict/step_contrast.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "src/analyze/accounting/accounting.h"
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
  // Calls text(key) for its name.
  template <class Text>
  MoreWork Top(Text text) const {
    const Key* top = nullptr;
    MoreWork best;
    for (const auto& [key, sums] : sums_) {
      const MoreWork one = {"", sums.first / more_, sums.second / usual_};
      if (top == nullptr || one.extra_ns() > best.extra_ns()) top = &key, best = one;
    }
    if (top != nullptr) best.what = text(*top);
    return best;
  }

 private:
  double more_, usual_;
  std::map<Key, std::pair<double, double>> sums_;
};

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
  const trace::Interval life = LifeOf(trace, owner.lead);
  const std::unique_ptr<LineCursor> lines = LinesOfThread(context, owner.lead);
  Contrast<Line> contrast(sets);
  int64_t at = life.begin_ns;
  for (const uint32_t step : order) {
    const bool more = sets.more.contains(step);
    const int64_t end = std::min(owner.steps[step].end_ns, life.end_ns);
    for (at = std::max(at, owner.steps[step].begin_ns); at < end;) {
      const LineStretch& stretch = lines->At(at);
      const int64_t until = std::min(stretch.end_ns, end);
      if (stretch.line.kind == LineKind::kOwn) contrast.Add(stretch.line, more, until - at);
      at = until;
    }
  }
  return contrast.Top([&](const Line& line) { return LineText(trace, line); });
}

}  // namespace crosscut::analyze
