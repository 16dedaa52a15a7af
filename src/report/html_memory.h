// Memory over time as a picture without a script, from the table memory_timeline.
#pragma once

#include <cstdint>
#include <string>

#include "src/analyze/table.h"
#include "src/report/process_titles.h"

namespace crosscut::report {

// If there are more processes and devices, those with the highest peaks stay, and the page says so.
inline constexpr size_t kMaxMemoryCharts = 8;

// A section with a chart for each process and device; "" where nothing was recorded. `origin` is
// the zero of the page's times.
std::string MemoryHtml(const analyze::Table* timeline, int64_t origin,
                       const ProcessTitles& titles = {});

}  // namespace crosscut::report
