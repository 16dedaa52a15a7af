// What the steps of each process are spent on, by cause: a partition, so causes add up and none is
// counted twice. docs/verdict.md has the definition. What spans cannot tell apart is told by
// samples: Python that in fact waits for the GIL or is native code that nothing wraps, and work
// that in fact waits for a processor.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "src/analyze/accounting/cells.h"
#include "src/analyze/context.h"
#include "src/analyze/table.h"
#include "src/analyze/verdict/blamed_lines.h"
#include "src/analyze/verdict/cause.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// part / whole; 0 where there is no whole.
double Share(int64_t part, int64_t whole);
// "input", "python", ..., "other-process", "other-rank", ..., "unknown".
const char* CauseName(Cause cause);

struct CauseSum {
  int64_t ns = 0;
  // Device: while the host did nothing else. Another rank: when all others had come. Else equal to
  // ns.
  int64_t alone_ns = 0;
  std::map<uint32_t, int64_t> operations;  // by NameCodes number
  std::map<uint32_t, int64_t> names;       // by NameId of the lead's innermost span
  int64_t samples = 0;                     // of the lead in it
  BlamedLines lines;                       // the program's own lines in these samples
};

struct ProcessCauses {
  // The part of the window that is told apart: steps, or the whole window where there are none.
  WindowPart part = WindowPart::kSteps;
  int64_t total_ns = 0;  // the sum over all causes but kPreemption, whose time is in others, too
  std::array<CauseSum, kCauses> causes;
  bool knows_native = false;  // samples tell Python and native code that nothing wraps apart
  // For whom it waited in collectives, and how long; by process.
  std::map<uint32_t, int64_t> ranks;
  // By step that is observed, in order of time, then cause: nanoseconds. Empty without steps.
  std::vector<std::array<int64_t, kCauses>> steps;
  // The lines of the program that samples of the lead saw outside of every operation, by part of
  // the window and the lead's layer.
  std::array<std::map<trace::Layer, BlamedLines>, kWindowParts> unnamed;
};

// Of all processes, computed once and shared by the tables that show it.
struct Causes {
  explicit Causes(const Context& context);
  std::vector<ProcessCauses> processes;  // by process
};

// process, cause, ns, alone_ns, samples: a row for each cause that has time. ns sums to the
// process's part `steps` of window_parts, or to its window where it has no steps.
Table StepCausesTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
