// Who is to blame for the time in which a lead waits for another process: whoever works then.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/verdict/others_work.h"
#include "src/analyze/verdict/process_causes.h"

namespace crosscut::analyze {

// What other processes may do for one that waits.
inline constexpr std::array<Cause, 3> kDoneByOthers = {Cause::kInput, Cause::kSimulator,
                                                       Cause::kOtherProcess};

// Puts the lines and names of the rank that a process waits for longest in place of those where it
// waits: of what that rank does at the times that are told of the wait; of what processes do that
// it started, as a loader's workers, where it waits most of that time and they work. `waited`:
// these, by rank, disjoint and in order. `others` is of that context's. Requires: it waits for one;
// all processes have one clock.
void BlameLateRank(const Context& context,
                   const std::map<uint32_t, std::vector<trace::Interval>>& waited,
                   RelativesWork* others, ProcessCauses* causes);

// Puts the lines of those who work while `p` waits (at `times`, which are disjoint and in order) in
// place of the lines where it does, if they work in half of `sum`; the process may do the rest
// itself. `others` is of that context's.
void BlameOthers(const Context& context, uint32_t p, const std::vector<trace::Interval>& times,
                 RelativesWork* others, CauseSum* sum);

}  // namespace crosscut::analyze
