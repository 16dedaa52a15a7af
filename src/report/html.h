// The HTML report: one file that opens from the disk, requests nothing from the network, and stays
// below 5 MB however long the run. Its tables are readable without scripts.
#pragma once

#include <string>

#include "src/report/data.h"

namespace crosscut::report {

// The page, UTF-8. Names in `data` may hold anything; they stay text. The page also shows tables
// that it does not know.
std::string RenderHtml(const ReportData& data);

// A page that compares two runs, A and B: `answer` in a sentence, the tables of `data` and its
// gaps, and steps of `base` (A) and `run` (B) laid under each other. Of these two it needs the
// timelines, the tables `processes` and `steps`, and the gaps. Its size is that of both timelines.
std::string RenderComparisonHtml(const ReportData& data, const std::string& answer,
                                 const ReportData& base, const ReportData& run);

}  // namespace crosscut::report
