// The report as one JSON object: title, facts, gaps and every table in full.
#pragma once

#include <string>

#include "src/report/data.h"

namespace crosscut::report {

std::string RenderReportJson(const ReportData& data);

}  // namespace crosscut::report
