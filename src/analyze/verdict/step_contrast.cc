#include "src/analyze/verdict/step_contrast.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/collectives/matches.h"
#include "src/analyze/verdict/others_work.h"
#include "src/analyze/verdict/process_lines.h"
#include "src/trace/column.h"

namespace crosscut::analyze {
namespace {

// In order of step: calls visit(element, more) for those of both sets.
template <class Elements, class Visit>
void ForEachOf(const StepSets& sets, const Elements& elements, Visit visit) {
  for (const bool more : {true, false}) {
    auto next = elements.begin();
    for (const uint32_t step : more ? sets.more : sets.usual) {
      next = std::partition_point(next, elements.end(),
                                  [step](const auto& element) { return element.step < step; });
      for (; next != elements.end() && next->step == step; ++next) visit(*next, more);
    }
  }
}

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

// At which lines of the program the lead of a process was in each step that is recorded, in order
// of step.
struct LeadsSteps {
  struct AtLine {
    uint32_t step;  // index into Process::steps
    Line line;
    int64_t ns;
  };
  struct Wait {  // for others: WaitsForOthers
    uint32_t step;
    Line line;
    trace::Interval time;
  };
  trace::Column<AtLine> lines;
  trace::Column<Wait> waits;  // none where the trace has no other process
};

LeadsSteps LeadsStepsOf(const Context& context, uint32_t process) {
  LeadsSteps out;
  const trace::Trace& trace = context.trace();
  const trace::Process& owner = trace.processes[process];
  if (owner.lead.value >= trace.tracks.size() ||
      context.Shared<ThreadFacts>().samples[owner.lead.value].empty()) {
    return out;
  }
  std::vector<uint32_t> steps;
  std::vector<trace::Interval> times;
  for (uint32_t s = 0; s < owner.steps.size(); ++s) {
    if (!owner.steps[s].profiled()) continue;
    steps.push_back(s);
    times.push_back({owner.steps[s].begin_ns, owner.steps[s].end_ns});
  }
  std::map<Line, int64_t> sums;  // of the step at hand
  size_t now = 0;
  const auto end_step = [&] {
    for (const auto& [line, ns] : sums) out.lines.push_back({steps[now], line, ns});
    sums.clear();
  };
  const bool has_others = trace.processes.size() > 1;
  ForEachOfLead(context, {process}, times,
                [&](const LineStretch& stretch, const trace::Interval& part, size_t i) {
                  if (i != now) end_step();
                  now = i;
                  if (stretch.line.kind != LineKind::kOwn) return;
                  sums[stretch.line] += part.end_ns - part.begin_ns;
                  if (!has_others || !WaitsForOthers(stretch)) return;
                  out.waits.push_back({steps[i], stretch.line, part});
                });
  end_step();
  return out;
}

// Of all processes. Each is walked through once, however many ask for it: Context::Shared.
class AllLeadsSteps {
 public:
  explicit AllLeadsSteps(const Context& context)
      : context_(context), processes_(context.trace().processes.size()) {}
  const LeadsSteps& Of(uint32_t process) const {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<const LeadsSteps>& steps = processes_[process];
    if (steps == nullptr) {
      steps = std::make_unique<const LeadsSteps>(LeadsStepsOf(context_, process));
    }
    return *steps;
  }

 private:
  const Context& context_;
  mutable std::mutex mutex_;                                          // of what follows
  mutable std::vector<std::unique_ptr<const LeadsSteps>> processes_;  // null: nobody asked
};

// Of the lines at which other processes work while the lead waits at one of its own.
MoreWork WorkOfOthers(const Context& context, const StepSets& sets, const Line& leads,
                      const trace::Column<LeadsSteps::Wait>& waits) {
  std::vector<trace::Interval> of_more, of_usual;
  ForEachOf(sets, waits, [&](const LeadsSteps::Wait& wait, bool more) {
    if (wait.line == leads) Extend(wait.time, more ? &of_more : &of_usual);
  });
  if (of_more.empty() || !SharesClock(context.trace())) return {};
  const auto& others = context.Shared<RelativesWork>();
  Contrast<Line> contrast(sets);
  for (const bool more : {true, false}) {
    const OthersWork work = others.In({sets.process}, more ? of_more : of_usual);
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
  ForEachOf(sets, accounting.processes[sets.process].overlap.steps,
            [&](const StepCell& cell, bool more) { contrast.Add(cell.operation, more, cell.ns); });
  return contrast.Top([&](uint32_t operation) {
    return std::string(context.trace().text(accounting.names.operations[operation]));
  });
}

MoreWork LineWithMore(const Context& context, const StepSets& sets) {
  const LeadsSteps& steps = context.Shared<AllLeadsSteps>().Of(sets.process);
  Contrast<Line> contrast(sets);
  ForEachOf(sets, steps.lines,
            [&](const LeadsSteps::AtLine& at, bool more) { contrast.Add(at.line, more, at.ns); });
  Line top;
  const MoreWork leads =
      contrast.Top([&](const Line& line) { return LineText(context.trace(), line); }, &top);
  // It waited there for what others did.
  const MoreWork others = WorkOfOthers(context, sets, top, steps.waits);
  const bool is_theirs = others.extra_ns() > 0 && 2 * others.extra_ns() >= leads.extra_ns();
  return is_theirs ? others : leads;
}

}  // namespace crosscut::analyze
