// The top of a report: what bounds the program, and what its window consists of.
#pragma once

#include "src/report/data.h"
#include "src/report/document.h"

namespace crosscut::report {

// Adds the section "Verdict", at most twelve lines of a terminal, from the tables verdict,
// requests, step_changes, beside_steps, window_parts and part_work. Adds nothing where the run has
// no verdict.
void AddVerdict(const ReportData& data, Document* out);

}  // namespace crosscut::report
