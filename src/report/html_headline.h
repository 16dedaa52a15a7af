// The first sentences of the page: what ran, how long, where most of the time went, and what
// Crosscut itself cost. Taken from the tables; what a table does not say is left out.
#pragma once

#include <string>

#include "src/report/data.h"

namespace crosscut::report {

std::string HeadlineHtml(const ReportData& data);

}  // namespace crosscut::report
