// The accounting of a whole trace, computed once and shared by all tables: what every process's
// window was made of, raw and without Crosscut's own cost.
#pragma once

#include <vector>

#include "src/analyze/accounting/overhead.h"
#include "src/analyze/accounting/overlap.h"
#include "src/analyze/accounting/process_events.h"
#include "src/analyze/name_codes.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

struct ProcessAccount {
  ProcessOverlap overlap;
  Inflation inflation;
  Scale scale;
  Estimates estimates;
  double wander = 0;              // wander.h
  double spread = kLayoutSpread;  // of the pace of separate runs: layout and wander
  // By cell of overlap.cells. `low` and `high` bound corrected_ns (low: the most is subtracted).
  Correction correction, low, high;
};

struct Accounting {
  explicit Accounting(const trace::Trace& trace);

  NameCodes names;
  std::vector<ProcessTracks> tracks;      // by process
  std::vector<ProcessEvents> events;      // by process
  std::vector<ProcessAccount> processes;  // by process

  // Spans of Crosscut's own threads, by probe number: how many and how long.
  struct OwnWork {
    int64_t count = 0, ns = 0;
  };
  std::vector<OwnWork> own;
};

}  // namespace crosscut::analyze
