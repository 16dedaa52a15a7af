// Steps in a line: how many, how long, how far apart.
#pragma once

#include "src/analyze/tables.h"

namespace crosscut::analyze {

// A row for each process and kind of step. Percentiles are of the whole steps that were recorded,
// at the level that most of them have
// (no control steps, none that the process's end cut off), by nearest rank; kMissing where there
// are none.
Table StepSummaryTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
