// A process's window in order of time, cut where the key of docs/accounting.md changes: for
// analyses to which the order matters. Sums by key alone are the overlap engine's (overlap.h).
#pragma once

#include <cstdint>
#include <functional>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/layer_set.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// The longest stretch with one key: neighbours differ, or a pause lies between them.
struct KeyInterval {
  int64_t begin_ns = 0, end_ns = 0;
  uint32_t operation = 0;  // NameCodes number
  LayerSet layers = 0;
  bool after_gap = true;  // the window begins here, or goes on after a pause
};

// Calls `visit` for each of them. They cover the window but for its pauses, so their lengths sum by
// key to the cells of the accounting. O(edges) time; memory as the overlap engine's.
void VisitKeyIntervals(const trace::Trace& trace, const Accounting& accounting,
                       trace::ProcessId process,
                       const std::function<void(const KeyInterval&)>& visit);

}  // namespace crosscut::analyze
