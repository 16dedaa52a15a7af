// The HTML report: one file that opens from the disk, asks no network for anything, and stays
// below 5 MB however long the run. Its tables read without scripts.
#pragma once

#include <string>

#include "src/report/data.h"

namespace crosscut::report {

// The page, UTF-8. Names in `data` may hold anything; they stay text. Tables that the page does
// not know are shown too, as they are.
std::string RenderHtml(const ReportData& data);

}  // namespace crosscut::report
