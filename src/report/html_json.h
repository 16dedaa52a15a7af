// The data that the page's script draws, as JSON that is safe inside <script
// type="application/json">. src/report/page/data.ts reads it; the two change together.
#pragma once

#include <cstdint>
#include <string>

#include "src/report/data.h"

namespace crosscut::report {

// If there are more steps, only the slowest and the fastest of each group of neighbours stay.
inline constexpr size_t kMaxPageSteps = 6000;
// If `part_work` has more rows, only the largest stay, and the page says so.
inline constexpr size_t kMaxPageCells = 20000;

// The zero of the page's times: the begin of the run on the trace's clock, in ns.
int64_t PageOrigin(const ReportData& data);
std::string PageJson(const ReportData& data);

}  // namespace crosscut::report
