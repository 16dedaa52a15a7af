// What the page's script draws from, as JSON that is safe inside <script type="application/json">.
// src/report/page/data.ts is the reader; the two change together.
#pragma once

#include <cstdint>
#include <string>

#include "src/report/data.h"

namespace crosscut::report {

// More steps than this are thinned: of every group of neighbours the slowest and the fastest stay.
inline constexpr size_t kMaxPageSteps = 6000;
// More cells of `overlap` than this: the largest stay, the page says so.
inline constexpr size_t kMaxPageCells = 20000;

// The zero of the page's times: begin of the run on the trace's clock.
int64_t PageOrigin(const ReportData& data);
std::string PageJson(const ReportData& data);

}  // namespace crosscut::report
