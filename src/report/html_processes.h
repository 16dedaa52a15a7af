// Processes and their phases as a picture that needs no script: RL-Scope's summary view. Drawn from
// table phases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "src/analyze/table.h"

namespace crosscut::report {

// More processes or phases than this: the first ones are drawn, the page says so.
inline constexpr size_t kMaxProcessLanes = 40;
inline constexpr size_t kMaxDrawnPhases = 1000;

// A section with a lane per process: each phase as three bars (total, CPU, device) on one time
// axis, and an arrow from a parent to where its child begins. "" where there is one process without
// phases. `processes` (may be null) has their names; `origin` is the zero of the page's times.
std::string ProcessesHtml(const analyze::Table* phases, const analyze::Table* processes,
                          int64_t origin);

}  // namespace crosscut::report
