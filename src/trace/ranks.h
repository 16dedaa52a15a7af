// The ranks of a job that a trace holds, as launchers, Kineto and the program state them.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::trace {

// A process's place in its job, as the process or its `distributedInfo` states it. Views refer to
// the trace.
struct Rank {
  int64_t rank = -1;       // -1: it states none
  int64_t world_size = 0;  // 0: likewise
  int64_t groups = 0;      // process groups of torch.distributed; 0: it states none
  std::string_view from;   // the launcher's variable; "": not known
  std::string_view info;   // distributedInfo, a JSON object; "": none
};
Rank RankOf(const Trace& trace, const Process& process);

// The ranks of one job.
struct Job {
  int64_t world_size = 0;
  std::set<int64_t> ranks;  // that are here
};
// One job for each launcher and world size. A process without a world size and a launcher's
// variable is taken for one of the largest job without that variable. Processes without a valid
// rank are in no job.
std::vector<Job> JobsOf(const Trace& trace);

}  // namespace crosscut::trace
