// The first and largest part of the report: each process's time by operation and layer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/report/data.h"
#include "src/report/document.h"

namespace crosscut::report {

// Adds the sections to `out`.
void AddTime(const ReportData& data, const DocumentOptions& options, Document* out);

// The text of a grid's cell; "-" for analyze::kMissing.
std::string TimeText(int64_t ns);
std::string CountText(int64_t count);

// The name of the process with that key for people: "train.py (pid 4711)".
std::string ProcessName(const ReportData& data, std::string_view key);

}  // namespace crosscut::report
