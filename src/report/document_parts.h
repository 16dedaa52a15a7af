// The parts of the document of a run that have a file of their own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/report/data.h"
#include "src/report/document.h"

namespace crosscut::report {

// Adds the first and largest part: each process's time by operation and layer.
void AddTime(const ReportData& data, const DocumentOptions& options, Document* out);

// Adds the section "Verdict", what bounds the program and what its window consists of: at most
// twelve lines of a terminal, from the tables verdict, requests, step_changes, beside_steps,
// window_parts and part_work. Adds nothing where the run has no verdict.
void AddVerdict(const ReportData& data, Document* out);

// The text of a grid's cell; "-" for analyze::kMissing.
std::string TimeText(int64_t ns);
std::string CountText(int64_t count);

// The name of the process with that key for people: "train.py (pid 4711)".
std::string ProcessName(const ReportData& data, std::string_view key);

}  // namespace crosscut::report
