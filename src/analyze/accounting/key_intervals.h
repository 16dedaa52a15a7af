// A process's window in order of time, cut where the key of docs/accounting.md changes. It serves
// analyses that depend on the order. The overlap engine (overlap.h) makes sums by key alone.
#pragma once

#include <cstdint>
#include <functional>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/layer_set.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// A stretch with one key, as long as possible: neighbours have different keys, or a pause lies
// between them.
struct KeyInterval {
  int64_t begin_ns = 0, end_ns = 0;
  uint32_t operation = 0;  // NameCodes number
  LayerSet layers = 0;
  bool after_gap = true;  // the window begins here or goes on after a pause
};

// Calls `visit` for each interval of the process, in order of time. They cover the window without
// its pauses, so their lengths sum by key to the cells of the accounting. `accounting` was made for
// `trace`. Takes O(edges) time and as much memory as the overlap engine.
void VisitKeyIntervals(const trace::Trace& trace, const Accounting& accounting,
                       trace::ProcessId process,
                       const std::function<void(const KeyInterval&)>& visit);

}  // namespace crosscut::analyze
