// How unsteadily the machine ran under a process, seen in its own steps.
#pragma once

#include <vector>

#include "src/analyze/accounting/overhead.h"

namespace crosscut::analyze {

inline constexpr size_t kWanderParts = 8;        // of a run
inline constexpr size_t kFewestForWander = 200;  // steps

// By how much, on a logarithmic scale, the pace of one run is likely to differ from the next for
// reasons that lie in the machine: the Allan deviation of the lengths of steps at an eighth of the
// run. Of noise with as much power in every octave, which is about what shared machines show, that
// does not hang on the time averaged over (Allan 1966, "Statistics of atomic frequency standards"),
// so an eighth stands for the whole. What lies in the program is taken out where it can be told: a
// steady trend, and a few jumps. Steps that count, at the level that most of their kind have,
// relative to the median of these. 0 where they are too few.
double Wander(const std::vector<StepSample>& steps);

}  // namespace crosscut::analyze
