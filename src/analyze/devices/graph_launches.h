// Launches of graphs, and those of which no work was recorded: profilers of devices may trace only
// some replays of a graph. In such a process devices that seem to do nothing may work.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analyze/context.h"

namespace crosscut::analyze {

struct GraphLaunches {
  explicit GraphLaunches(const Context& context);
  struct Counts {
    int64_t all = 0, without_work = 0;
  };
  std::vector<Counts> processes;  // by ProcessId; zeros where no work on devices was recorded
};

}  // namespace crosscut::analyze
