// The report as one JSON object: title, facts, gaps and every table in full.
#pragma once

#include <string>

#include "src/report/data.h"

namespace crosscut::report {

std::string RenderReportJson(const ReportData& data);
// The same for tables that were rendered one by one, so that no two of them are held at once.
// `data` then has none, and `tables` is what AddTableJson made.
std::string RenderReportJson(const ReportData& data, std::string tables);
// Appends a table to `tables`.
void AddTableJson(const analyze::Table& table, std::string* tables);

}  // namespace crosscut::report
