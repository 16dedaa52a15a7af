// The verbs start, stop and snapshot: recording on demand in processes that wait for it.
//
// They write into the mapped header of the processes' rings and read the answers there. Nothing
// listens, and no signal is sent. docs/on-demand.md states what is promised.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace crosscut::verbs {

struct ControlOptions {
  enum class Action { kStart, kStop, kSnapshot };
  Action action = Action::kStart;
  std::string target;    // a process id, or a run directory: all of its processes
  bool at_once = false;  // do not wait for a step
  uint64_t at_step = 0;  // 0: the next one that all can still reach
  uint64_t steps = 0;    // of a start: end after so many; 0: no such end
  double seconds = 0;    // of a start: end after so long; 0: no such end
  double timeout = 30;   // gives up after so many seconds without a step
  std::function<void(std::string_view line)> say;  // may be empty
};

// The result for one process.
struct ControlledProcess {
  std::string key;    // as tables name it
  std::string title;  // as people know it: "train.py (pid 4711)"
  int64_t pid = 0;
  bool followed = false;
  std::string words;  // why it did not follow
  uint64_t window = 0;
  bool counts_steps = false;
  uint64_t first_step = 0, end_step = 0;  // where it counts steps; end_step 0: goes on
  bool ended = false;                     // the window
};

struct ControlOutcome {
  std::string run_dir;  // "" where its path is too long for the ring
  std::vector<ControlledProcess> processes;
};

// Returns once every process has answered or could not; after a start with `steps` or `seconds`,
// once the window has ended. kNotFound where there is no process to ask, kLimit where another
// command is at work, kInvalid where the request is not possible.
Result<ControlOutcome> Control(const ControlOptions& options);

}  // namespace crosscut::verbs
