// Who is to blame for the time in which a lead waits for another process: whoever works then.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "src/analyze/collectives/rank_waits.h"
#include "src/analyze/context.h"
#include "src/analyze/verdict/others_work.h"
#include "src/analyze/verdict/process_causes.h"

namespace crosscut::analyze {

// What other processes may do for one that waits.
inline constexpr std::array<Cause, 3> kDoneByOthers = {Cause::kInput, Cause::kSimulator,
                                                       Cause::kOtherProcess};

// Puts the lines and names of the rank that process `p` waits for longest in place of those where
// it waits. To blame is what that rank has more of than `p`, from when both were level last to when
// it comes: what it does while `p` waits, `p` has done before. Where it waited itself for a process
// that it started, as a loader's worker, the line is that one's. `waited`: the waits that are told,
// by rank, disjoint and in order; `waits`: RankWaits. Requires: it waits for one; all processes
// have one clock.
void BlameLateRank(const Context& context, uint32_t p,
                   const std::map<uint32_t, std::vector<trace::Interval>>& waited,
                   const std::vector<std::vector<RankWait>>& waits, ProcessCauses* causes);

// Puts the lines of those who work while `p` waits (at `times`, which are disjoint and in order) in
// place of the lines where it does, if they work in half of `sum`; the process may do the rest
// itself. `waits`: such times of all causes. Fills `sum->ahead`. Requires: all processes have one
// clock.
void BlameOthers(const Context& context, uint32_t p, const std::vector<trace::Interval>& times,
                 const std::vector<trace::Interval>& waits, CauseSum* sum);

}  // namespace crosscut::analyze
