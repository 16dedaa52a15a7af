// Memory over time as a picture that needs no script, drawn from table memory_timeline.
#pragma once

#include <cstdint>
#include <string>

#include "src/analyze/table.h"

namespace crosscut::report {

// More processes and devices than this: those with the highest peaks stay, the page says so.
inline constexpr size_t kMaxMemoryCharts = 8;

// A section with one chart per process and device; "" where nothing was recorded. `origin` is the
// zero of the page's times.
std::string MemoryHtml(const analyze::Table* timeline, int64_t origin);

}  // namespace crosscut::report
