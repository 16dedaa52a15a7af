// The accounting of a whole trace, computed once and shared by all tables: what each process's
// window was made of, both as recorded and without Crosscut's own cost.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analyze/accounting/overhead.h"
#include "src/analyze/accounting/overlap.h"
#include "src/analyze/accounting/process_events.h"
#include "src/analyze/name_codes.h"
#include "src/trace/requests.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

struct ProcessAccount {
  ProcessOverlap overlap;
  Inflation inflation;
  Scale scale;
  Estimates estimates;
  double wander = 0;              // wander.h
  double spread = kLayoutSpread;  // of the pace of separate runs, relative: layout and wander
  // By cell of overlap.cells. `low` and `high` bound corrected_ns; `low` subtracts the most.
  Correction correction, low, high;
};

// The cells by operation, layers, part of the window and control, whatever adapters found in the
// operations. Their probe_ps holds the corrected time, in nanoseconds.
std::vector<Cell> CellsByOperation(const ProcessAccount& account);

struct Accounting {
  explicit Accounting(const trace::Trace& trace);

  NameCodes names;
  std::vector<ProcessTracks> tracks;                  // by process
  std::vector<std::vector<trace::Request>> requests;  // by process, by begin
  std::vector<ProcessEvents> events;                  // by process
  std::vector<ProcessAccount> processes;              // by process

  // The spans of Crosscut's own threads that one probe kind recorded: how many and how long.
  struct OwnWork {
    int64_t count = 0, ns = 0;
  };
  std::vector<OwnWork> own;  // by NameCodes probe number; [0]: spans without a probe
};

}  // namespace crosscut::analyze
