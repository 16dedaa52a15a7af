// The HTML report: one file that opens from the disk, requests nothing from the network, and stays
// below 5 MB however long the run. Its tables are readable without scripts.
#pragma once

#include <string>

#include "src/report/data.h"

namespace crosscut::report {

// The page, UTF-8. Names in `data` may hold anything; they stay text. The page also shows tables
// that it does not know.
std::string RenderHtml(const ReportData& data);

}  // namespace crosscut::report
