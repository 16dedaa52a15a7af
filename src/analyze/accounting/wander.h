// How unsteadily the machine ran under a process, seen in its own steps.
#pragma once

#include <vector>

#include "src/analyze/accounting/overhead.h"

namespace crosscut::analyze {

inline constexpr size_t kWanderParts = 8;        // a run is cut into so many parts
inline constexpr size_t kFewestForWander = 200;  // steps

// By how much, on a logarithmic scale, the pace of one run is likely to differ from the next for
// reasons that lie in the machine: the Allan deviation of the lengths of steps over an eighth of
// the run. Shared machines show noise with about equal power in every octave. The deviation of such
// noise does not depend on the averaging time (Allan 1966, "Statistics of atomic frequency
// standards"), so an eighth stands for the whole. What lies in the program is removed where it can
// be recognised: a steady trend, and a few jumps. Uses the steps that count, but for control steps,
// and have the level that most of those of their kind have, relative to their median. Returns 0
// where there are fewer than kFewestForWander of them.
double Wander(const std::vector<StepSample>& steps);

}  // namespace crosscut::analyze
