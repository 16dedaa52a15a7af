// Processes and their phases as a picture that needs no script: RL-Scope's summary view. Drawn from
// tables phases and utilization.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "src/analyze/table.h"

namespace crosscut::report {

// More processes or phases than this: the first ones are drawn, the page says so.
inline constexpr size_t kMaxProcessLanes = 40;
inline constexpr size_t kMaxDrawnPhases = 1000;

struct ProcessTables {
  const analyze::Table* phases = nullptr;
  const analyze::Table* processes = nullptr;    // for their names
  const analyze::Table* utilization = nullptr;  // for the strips
};

// A section with a lane per process: each phase as three bars (total, CPU, device) on one time
// axis, an arrow from a parent to where its child begins, and strips of what the process took of
// CPU, memory and devices over time. "" where there is one process without phases. Any table may be
// null; `origin` is the zero of the page's times.
std::string ProcessesHtml(const ProcessTables& tables, int64_t origin);

}  // namespace crosscut::report
