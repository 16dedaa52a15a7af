#include "src/compare/steps.h"

#include <algorithm>
#include <map>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/steps/step_classes.h"
#include "src/analyze/steps/step_summary.h"

namespace crosscut::compare {
namespace {

using analyze::Accounting;
using analyze::ProcessAccount;

std::vector<bool> WarmingUp(const trace::Trace& trace, const Accounting& accounting, uint32_t p) {
  const trace::Process& process = trace.processes[p];
  const ProcessAccount& account = accounting.processes[p];
  const analyze::StepClasses classes = analyze::ClassifySteps(
      trace, process, analyze::SampleSteps(process, accounting.events[p], account.overlap),
      account.inflation);
  std::vector<bool> out;
  for (const uint32_t c : classes.of_step) {
    out.push_back(c != analyze::StepClasses::kNone &&
                  classes.classes[c].name.ends_with(", warm-up"));
  }
  return out;
}

// Indices of the steps that are compared, in order of time.
std::vector<uint32_t> Chosen(const trace::Trace& trace, const Accounting& accounting, uint32_t p,
                             const std::string& kind) {
  const trace::Process& process = trace.processes[p];
  const std::vector<int64_t> walls = analyze::StepWalls(process, accounting.processes[p].overlap);
  std::vector<uint32_t> out;
  for (const analyze::ComparedSteps& of_kind : analyze::CompareSteps(process, walls)) {
    if (trace.text(of_kind.kind) == kind) out = of_kind.usual;
  }
  const std::vector<bool> warm = WarmingUp(trace, accounting, p);
  std::erase_if(out, [&](uint32_t s) { return warm[s]; });
  std::stable_sort(out.begin(), out.end(), [&](uint32_t x, uint32_t y) {
    return process.steps[x].begin_ns < process.steps[y].begin_ns;
  });
  return out;
}

// Splits the chosen steps by operation and layers.
void AddParts(const trace::Trace& trace, const Accounting& accounting, uint32_t p, RunSteps* out) {
  constexpr uint32_t kNotChosen = UINT32_MAX;
  const trace::Process& process = trace.processes[p];
  const ProcessAccount& account = accounting.processes[p];
  std::vector<uint32_t> place(process.steps.size(), kNotChosen);
  for (uint32_t i = 0; i < out->steps.size(); ++i) place[out->steps[i].index] = i;
  std::map<std::pair<uint32_t, analyze::LayerSet>, uint32_t> numbers;
  for (const analyze::StepCell& cell : account.overlap.steps) {
    const uint32_t step = place[cell.step];
    if (step == kNotChosen) continue;
    const auto [at, fresh] = numbers.try_emplace({cell.operation, cell.layers}, out->keys.size());
    if (fresh) {
      const trace::StringId text = accounting.names.operations[cell.operation];
      out->keys.push_back({std::string(trace.text(text)), cell.layers});
    }
    const double corrected =
        analyze::CorrectedNs(process.steps[cell.step], cell, account.estimates.value);
    out->parts.push_back({step, at->second, cell.ns, corrected});
    out->steps[step].ns += cell.ns;
  }
}

RunSteps StepsOf(const Run& run, trace::ProcessId process, const std::string& kind) {
  RunSteps out;
  if (!process.valid()) return out;
  const auto& accounting = run.context->Shared<Accounting>();
  for (const uint32_t s : Chosen(*run.trace, accounting, process.value, kind)) {
    out.steps.push_back({s});
    out.level = run.trace->processes[process.value].steps[s].level;
  }
  AddParts(*run.trace, accounting, process.value, &out);
  return out;
}

// The time of each kind of steps of one process.
std::map<std::string, int64_t> KindTimes(const Run& run, trace::ProcessId id) {
  std::map<std::string, int64_t> out;
  if (!id.valid()) return out;
  const trace::Process& process = run.trace->processes[id.value];
  const std::vector<int64_t> walls =
      analyze::StepWalls(process, run.context->Shared<Accounting>().processes[id.value].overlap);
  for (const analyze::ComparedSteps& kind : analyze::CompareSteps(process, walls)) {
    int64_t& sum = out[std::string(run.trace->text(kind.kind))];
    for (const uint32_t s : kind.usual) sum += walls[s];
  }
  return out;
}

}  // namespace

std::vector<std::string> KindsOf(const Sides& sides, const Role& role) {
  struct Kind {
    size_t runs = 0;
    int64_t ns = 0;
  };
  std::map<std::string, Kind> kinds;
  const auto add = [&](std::span<const Run> runs, const std::vector<trace::ProcessId>& processes) {
    for (size_t r = 0; r < runs.size(); ++r) {
      for (const auto& [name, ns] : KindTimes(runs[r], processes[r])) {
        kinds[name].runs += ns > 0;
        kinds[name].ns += ns;
      }
    }
  };
  add(sides.a, role.processes.a);
  add(sides.b, role.processes.b);
  std::erase_if(
      kinds, [&](const auto& kind) { return kind.second.runs < sides.a.size() + sides.b.size(); });
  double sum = 0;
  for (const auto& [name, kind] : kinds) sum += static_cast<double>(kind.ns);
  std::vector<std::string> out;
  for (const auto& [name, kind] : kinds) {
    if (static_cast<double>(kind.ns) >= kLeastOfKinds * sum) out.push_back(name);
  }
  std::stable_sort(out.begin(), out.end(), [&](const std::string& x, const std::string& y) {
    return kinds[x].ns > kinds[y].ns;
  });
  return out;
}

Both<std::vector<RunSteps>> CompareSteps(const Sides& sides, const Role& role,
                                         const std::string& kind) {
  Both<std::vector<RunSteps>> out;
  for (size_t r = 0; r < sides.a.size(); ++r) {
    out.a.push_back(StepsOf(sides.a[r], role.processes.a[r], kind));
  }
  for (size_t r = 0; r < sides.b.size(); ++r) {
    out.b.push_back(StepsOf(sides.b[r], role.processes.b[r], kind));
  }
  return out;
}

}  // namespace crosscut::compare
