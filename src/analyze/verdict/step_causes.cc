#include <algorithm>
#include <array>
#include <vector>

#include "src/analyze/columns.h"
#include "src/analyze/verdict/causes.h"

namespace crosscut::analyze {
const char* CauseName(Cause cause) {
  constexpr std::array<const char*, kCauses> kNames = {
      "input",         "python",     "framework",     "native",          "launches",
      "device",        "copies",     "communication", "synchronisation", "simulator",
      "other-process", "other-rank", "compilation",   "allocation",      "gc",
      "lock",          "waiting",    "disk",          "preemption",      "recording",
      "unknown"};
  return kNames[static_cast<size_t>(cause)];
}

std::vector<std::pair<int64_t, Cause>> RankedCauses(const CauseTimes& times) {
  std::vector<std::pair<int64_t, Cause>> out;
  for (size_t c = 0; c < kCauses; ++c) {
    if (times[c] > 0) out.emplace_back(times[c], static_cast<Cause>(c));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  return out;
}

Table StepCausesTable(const trace::Trace& trace, const Context& context) {
  const Causes& causes = context.Shared<Causes>();
  TableRows table("step_causes", Text("process"), Text("cause"), Integer("ns"), Integer("alone_ns"),
                  Integer("samples"));
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const auto sum_of = [&of = causes.processes[p]](Cause cause) -> const CauseSum& {
      return cause == Cause::kPreemption ? of.preempted : of.causes[static_cast<size_t>(cause)];
    };
    CauseTimes times{};
    for (size_t c = 0; c < kCauses; ++c) times[c] = sum_of(static_cast<Cause>(c)).ns;
    for (const auto& [ns, cause] : RankedCauses(times)) {
      const CauseSum& sum = sum_of(cause);
      table.Add(context.process_label({p}), CauseName(cause), ns, sum.alone_ns, sum.samples);
    }
  }
  return table.Make();
}

}  // namespace crosscut::analyze
