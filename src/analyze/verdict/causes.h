// What the steps of each process are spent on, by cause: a partition, so causes add up and none is
// counted twice. docs/verdict.md has the definition. What spans cannot tell apart is told by
// samples: Python that in fact waits for the GIL or is native code that nothing wraps, and work
// that in fact waits for a processor.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/table.h"
#include "src/analyze/verdict/process_causes.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// "input", "python", ..., "other-process", "other-rank", ..., "unknown".
const char* CauseName(Cause cause);
// Those that have time, with it, the longest first.
std::vector<std::pair<int64_t, Cause>> RankedCauses(const CauseTimes& times);

// Of all processes, computed once and shared by the tables that show it.
struct Causes {
  explicit Causes(const Context& context);
  std::vector<ProcessCauses> processes;  // by process
};

// process, cause, ns, alone_ns, samples: a row for each cause that has time. ns sums to the
// process's part `steps` of window_parts, or to its window where it has no steps.
Table StepCausesTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
