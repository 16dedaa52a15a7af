// Where each rank waited for another: in collectives for the last to come, in sends and receives
// for the other side. Who is waited for may wait itself, so waits are followed to their end: the
// rank that waits for nobody.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analyze/context.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// Where a process waited for another rank: disjoint, in order of time.
struct RankWait {
  int64_t begin_ns, end_ns;
  trace::ProcessId last;  // for whom, in the end
  bool saved;             // all others had come
};

// By process. Sends and receives count where the ranks share a clock and each number is one
// process's; so does following. Two that wait for each other exchange data, and wait for nobody.
std::vector<std::vector<RankWait>> RankWaits(const Context& context);

}  // namespace crosscut::analyze
