// The verb `record`: runs a command with Crosscut inside it and ends as the command ended.
//
// Record() makes the run directory, prepares the command's environment, starts it in this process
// group, passes signals on, waits, and empties the rings of ended processes. It touches neither
// stdin nor stdout. Call it from a process with one thread: it blocks signals.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/verbs/recording/record_options.h"

namespace crosscut::verbs {

struct RecordOutcome {
  std::string run_dir;  // absolute; "" where the command, or for lack of room the recording, cannot
                        // be started
  int wait_status = 0;  // as from waitpid(); 127 << 8 and 126 << 8 where the command could not run
};

// Fails, without having started anything, where the options are wrong or no run directory can be
// made. Later problems go to RecordOptions::say and do not stop the command.
Result<RecordOutcome> Record(const RecordOptions& options);

}  // namespace crosscut::verbs
