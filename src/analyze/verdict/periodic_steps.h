// Steps that are slow again and again at equal distances: evaluation, checkpoints, logging.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/table.h"

namespace crosscut::analyze {

// Every `period`-th place from `first` on.
struct Period {
  int64_t period = 0, first = 0;
  int64_t count = 0;   // of the slow places that follow it
  int64_t missed = 0;  // places that would follow it and are not slow
  // Whether it holds that place. Requires: it is one.
  bool Has(int64_t place) const;
};

// The period that `slow` follows: sorted, different places of steps, the last step of all being at
// `last`. At least 3 of them follow it, they are at least two thirds of all, and at most a fifth of
// the places of the period is empty. A `period` of 0: there is none.
Period FindPeriod(const std::vector<int64_t>& slow, int64_t last);

// process, kind, period, first_step, count, missed (periodic steps that are not slow), usual_ns,
// periodic_ns (medians of the length of other and of periodic steps), extra_ns, work (what of an
// operation, or of a line of the program, these steps have most more of), what ("operation", "line"
// or "none").
Table PeriodicStepsTable(const trace::Trace& trace, const Context& context);

}  // namespace crosscut::analyze
