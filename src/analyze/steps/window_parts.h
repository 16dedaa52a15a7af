// What steps cut a process's window into: start-up, the steps, control steps, those left out by the
// budget, what lies between steps, shutdown; likewise the time with requests, where there are no
// steps. docs/accounting.md has the definition.
#pragma once

#include "src/analyze/accounting/cells.h"
#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// "start-up", "steps", "control steps", "left-out steps", "between steps", "requests", "between
// requests", "shutdown"; "whole window" for a process without steps and requests.
const char* WindowPartName(WindowPart part);

// process, part, count (of steps or requests; kMissing for other parts), wall_ns, corrected_ns: a
// row for each part that has time, in the order of WindowPart. wall_ns sums to the process's window
// without its pauses.
Table WindowPartsTable(const trace::Trace& trace, const Context& context);
// process, operation, layers, device, ns, corrected_ns: the partition of the part `steps` alone.
// The longest operation of a process first.
Table StepOverlapTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
