#include <algorithm>
#include <array>
#include <vector>

#include "src/analyze/columns.h"
#include "src/analyze/verdict/causes.h"

namespace crosscut::analyze {
namespace {

struct CauseRow {
  uint32_t process;
  Cause cause;
  const CauseSum* sum;
};

}  // namespace

const char* CauseName(Cause cause) {
  constexpr std::array<const char*, kCauses> kNames = {
      "input",         "python",     "framework",     "native",          "launches",
      "device",        "copies",     "communication", "synchronisation", "simulator",
      "other-process", "other-rank", "compilation",   "allocation",      "gc",
      "lock",          "waiting",    "disk",          "preemption",      "recording",
      "unknown"};
  return kNames[static_cast<size_t>(cause)];
}

Table StepCausesTable(const trace::Trace& trace, const Context& context) {
  std::vector<CauseRow> rows;
  const Causes& causes = context.Shared<Causes>();
  for (uint32_t p = 0; p < trace.processes.size(); ++p) {
    const auto first = static_cast<ptrdiff_t>(rows.size());
    for (size_t c = 0; c < kCauses; ++c) {
      const CauseSum& sum = causes.processes[p].causes[c];
      if (sum.ns > 0 && static_cast<Cause>(c) != Cause::kPreemption)
        rows.push_back({p, static_cast<Cause>(c), &sum});
    }
    const CauseSum& preempted = causes.processes[p].preempted;
    if (preempted.ns > 0) rows.push_back({p, Cause::kPreemption, &preempted});
    std::stable_sort(rows.begin() + first, rows.end(),
                     [](const CauseRow& a, const CauseRow& b) { return a.sum->ns > b.sum->ns; });
  }
  return TableOf("step_causes", rows)
      .Text("process", [&](const CauseRow& r) { return context.process_label({r.process}); })
      .Text("cause", [](const CauseRow& r) { return CauseName(r.cause); })
      .Integer("ns", [](const CauseRow& r) { return r.sum->ns; })
      .Integer("alone_ns", [](const CauseRow& r) { return r.sum->alone_ns; })
      .Integer("samples", [](const CauseRow& r) { return r.sum->samples; })
      .Make();
}

}  // namespace crosscut::analyze
