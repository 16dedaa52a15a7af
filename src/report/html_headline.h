// The first sentences of the page: what ran, how long, where most of the time went, and what
// Crosscut itself cost. They come from the tables; what no table has is left out.
#pragma once

#include <string>

#include "src/report/data.h"

namespace crosscut::report {

std::string HeadlineHtml(const ReportData& data);

}  // namespace crosscut::report
