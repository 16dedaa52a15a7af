// The HTML report: one file that opens from the disk, requests nothing from the network, and stays
// below 5 MB however long the run. Its tables are readable without scripts.
#pragma once

#include <string>

#include "src/report/data.h"

namespace crosscut::report {

// The page, UTF-8. Names in `data` may hold anything; they stay text. The page also shows tables
// that it does not know.
std::string RenderHtml(const ReportData& data);

// A page that compares two runs: it lays steps of `base` and `run` under each other, with the
// timelines and the tables `processes` and `steps` of these two; `data` has everything else that it
// shows, such as the tables of differences. Its size is that of both timelines.
std::string RenderComparisonHtml(const ReportData& data, const ReportData& base,
                                 const ReportData& run);

}  // namespace crosscut::report
