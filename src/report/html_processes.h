// Processes and their phases as a picture without a script: RL-Scope's summary view. It is drawn
// from the tables phases and utilization.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "src/analyze/table.h"

namespace crosscut::report {

// If there are more processes or phases, the first ones are drawn, and the page says so.
inline constexpr size_t kMaxProcessLanes = 40;
inline constexpr size_t kMaxDrawnPhases = 1000;

struct ProcessTables {
  const analyze::Table* phases = nullptr;
  const analyze::Table* processes = nullptr;    // for their names
  const analyze::Table* utilization = nullptr;  // for the strips
};

// A section with a lane for each process: each phase as three bars (total, CPU, device) on one time
// axis, an arrow from a parent to the begin of its child, and strips of the CPU, memory and devices
// that the process used over time. "" where there is only one process without phases. Any table may
// be null; `origin` is the zero of the page's times.
std::string ProcessesHtml(const ProcessTables& tables, int64_t origin);

}  // namespace crosscut::report
