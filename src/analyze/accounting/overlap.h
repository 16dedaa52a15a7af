// The overlap engine: one process's window cut into instants with one key each, and their measure.
//
// Key = (the lead's innermost operation, the set of active host layers, device bit), as
// docs/accounting.md defines it. Exact: the cells' sum is the window, to the nanosecond. O(edges)
// time; beside the result, memory depends on tracks and depth only, not on the trace's length.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analyze/accounting/cells.h"
#include "src/analyze/accounting/process_events.h"
#include "src/analyze/accounting/process_sweep.h"
#include "src/analyze/name_codes.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// A part of a step: `ns` of it had this layer set.
struct StepCell {
  uint32_t step;  // index into Process::steps
  LayerSet layers;
  int64_t ns;
  int64_t probe_ps;
};

// Events of one probe kind. Those on the critical path (the lead, or a thread that the lead waits
// for) are in the cells; the others only here.
struct ProbeCounts {
  int64_t lead = 0, waited = 0, other = 0;
};

struct ProcessOverlap {
  int64_t window_ns = 0;    // sum of all cells
  int64_t excluded_ns = 0;  // paused
  std::vector<Cell> cells;
  std::vector<StepCell> steps;      // by step
  std::vector<ProbeCounts> probes;  // by NameCodes number
};

ProcessOverlap ComputeOverlap(const trace::Trace& trace, const NameCodes& names,
                              const ProcessTracks& tracks, const ProcessEvents& events,
                              trace::ProcessId process);

// Venn size: the time in which every layer of `part` was active (kDeviceBit counts as one), with
// whatever else.
int64_t Inclusive(const std::vector<Cell>& cells, LayerSet part);

// The time of one thread by its own innermost operation and layer; sums to the thread's observed
// life inside the window, pauses excluded. Control steps of the process stand under `control`.
struct ThreadTime {
  int64_t life_ns = 0;
  std::vector<Cell> cells;
};
ThreadTime ComputeThreadTime(const trace::Trace& trace, const NameCodes& names,
                             const ProcessEvents& events, uint32_t track);

}  // namespace crosscut::analyze
