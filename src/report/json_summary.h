// The short report for other programs and agents: what ran, what bounds it, what to ask next.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "src/report/data.h"

namespace crosscut::report {

inline constexpr size_t kMaxSummary = 8192;  // bytes

// The names of the tables that a summary uses; `data` needs no others.
std::span<const std::string_view> SummaryTables();

// JSON of at most kMaxSummary bytes. Each section names its table, how many rows that has, and has
// the first of them, with the table's own columns and exact cells (missing ones are null). Where it
// would get too long, sections have fewer rows and texts end in an ellipsis.
std::string RenderSummaryJson(const ReportData& data);

}  // namespace crosscut::report
