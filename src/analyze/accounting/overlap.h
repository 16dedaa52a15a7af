// The overlap engine: how long each key held in one process's window.
//
// Key = (the lead's innermost operation, the set of active host layers, device bit), as
// docs/accounting.md defines it. Steps cut the window into parts; a cell lies in one of them. It is
// exact: the cells sum to the window without its pauses, to the nanosecond. It takes O(edges) time;
// beside the result, its memory depends on the tracks and their depth, not on the trace's length.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "src/analyze/accounting/cells.h"
#include "src/analyze/accounting/process_events.h"
#include "src/analyze/accounting/process_sweep.h"
#include "src/analyze/name_codes.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// A part of a step: `ns` of it had this operation and layer set.
struct StepCell {
  uint32_t step;       // index into Process::steps
  uint32_t operation;  // as Cell::operation
  LayerSet layers;
  int64_t ns;
  int64_t probe_ps;           // as Cell::probe_ps
  int64_t unswitched_ps = 0;  // as Cell::unswitched_ps
};

// How many events of one probe kind there are: on the lead, on another thread while the lead waits,
// and elsewhere. The first two are on the critical path; the third are only counted here.
struct ProbeCounts {
  int64_t lead = 0, waited = 0, other = 0;
  // What the cells have of their calibrated cost, in picoseconds: nothing of events in control
  // steps and in our own work, which is timed, and a share of those on threads that work at once
  // while the lead waits.
  int64_t in_cells_ps = 0;
  int64_t unswitched_in_cells_ps = 0;  // likewise, of ProbeCost::unswitched_ps
};

struct ProcessOverlap {
  int64_t window_ns = 0;    // sum of all cells
  int64_t excluded_ns = 0;  // paused
  std::vector<Cell> cells;
  std::vector<StepCell> steps;      // step by step, in order of time; a cell for each key of a step
  std::vector<ProbeCounts> probes;  // by NameCodes number
};

// What an event of each probe kind cost, by NameCodes number; zeros and no probe where the process
// states nothing. Whatever a damaged log says, nothing is negative or above a millisecond.
using ProbeCosts = std::array<trace::ProbeCost, kMaxProbes + 1>;
ProbeCosts CostsOf(const trace::Process& process, const NameCodes& names);

// All arguments were made for `trace` and `process`.
ProcessOverlap ComputeOverlap(const trace::Trace& trace, const NameCodes& names,
                              const ProcessTracks& tracks, const ProcessEvents& events,
                              trace::ProcessId process);

// The time in which every layer of `part` was active, alone or with others. kDeviceBit counts as a
// layer.
int64_t Inclusive(const std::vector<Cell>& cells, LayerSet part);

// The time of one thread by its own innermost operation and layer. Control steps of the process
// stand under layer control, and those that were left out likewise, by operation.
struct ThreadTime {
  int64_t life_ns = 0;  // the sum of the cells: its observed life in the window, without pauses
  std::vector<Cell> cells;
};
// `events` are those of the track's process.
ThreadTime ComputeThreadTime(const trace::Trace& trace, const NameCodes& names,
                             const ProcessEvents& events, uint32_t track);

}  // namespace crosscut::analyze
