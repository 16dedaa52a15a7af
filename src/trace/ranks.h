// The ranks of a job that a trace holds: what launchers, Kineto and the program state of them.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::trace {

// A process's place in its job, as it states it itself or its `distributedInfo` does.
struct Rank {
  int64_t rank = -1;       // -1: it states none
  int64_t world_size = 0;  // 0: likewise
  std::string_view from;   // the launcher's variable; "": not known
  std::string_view info;   // distributedInfo, a JSON object; "": none
};
Rank RankOf(const Trace& trace, const Process& process);

// The ranks of one job, of several that one launcher numbered.
struct Job {
  int64_t world_size = 0;
  std::set<int64_t> ranks;  // that are here
};
std::vector<Job> JobsOf(const Trace& trace);

}  // namespace crosscut::trace
