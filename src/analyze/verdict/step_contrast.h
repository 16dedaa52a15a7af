// What some steps of a process do more of than others: an operation, or a line of the program.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "src/analyze/context.h"

namespace crosscut::analyze {

// Two sets of recorded steps of a process, by index into Process::steps. Requires: neither is
// empty.
struct StepSets {
  uint32_t process;
  std::set<uint32_t> more, usual;
};

// What `more` has most more of, with the nanoseconds of a step on the mean. `what` is "" where
// nothing is known.
struct MoreWork {
  std::string what;
  double more_ns = 0, usual_ns = 0;  // in each set
  double extra_ns() const { return more_ns - usual_ns; }
};

MoreWork OperationWithMore(const Context& context, const StepSets& sets);
// Of the lead's lines: those where it was, waits included. Where other processes, such as loaders
// of data, worked at a line for half of the difference or more while it waited, that line.
MoreWork LineWithMore(const Context& context, const StepSets& sets);

}  // namespace crosscut::analyze
