// The first and largest part of the report: each process's time by operation and layer.
#pragma once

#include <string>
#include <string_view>

#include "src/report/data.h"
#include "src/report/document.h"

namespace crosscut::report {

void AddTime(const ReportData& data, const DocumentOptions& options, Document* out);

// Cells of a grid; "-" for what is not known (analyze::kMissing).
std::string TimeText(int64_t ns);
std::string CountText(int64_t count);

// "train.py (pid 4711)" for the key of a process.
std::string ProcessName(const ReportData& data, std::string_view key);

// A set of layers as people read it: "python+framework", "device", "unknown".
std::string LayersText(std::string_view layers, bool device);

}  // namespace crosscut::report
