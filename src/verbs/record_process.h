// Runs a command as a child of this process so that nobody can tell: same process group, same
// terminal, signals passed on, stops mirrored.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace crosscut::verbs {

struct CommandEnd {
  int wait_status = 0;
  int exec_errno = 0;  // not 0: the command could not be executed, wait_status is a shell's answer
  pid_t pid = 0;
};

// Starts `argv` with exactly `environment` ("NAME=value") and waits for its end. Signals that the
// terminal sends reach the command without us; those that a process sends to us alone are passed
// on. When the command stops for job control, this process stops too. Blocks the signals it
// passes on and leaves them blocked. `each_second` (may be empty) is called about that often while
// it waits, `started` (may be empty) once, with the pid, when the command runs. Fails where no
// process can be made.
Result<CommandEnd> RunCommand(const std::vector<std::string>& argv,
                              const std::vector<std::string>& environment,
                              const std::function<void()>& each_second,
                              const std::function<void(pid_t)>& started);

// Puts the command in this process's place: no process, thread, file or memory is taken from it.
// Returns only where it could not be executed, with that errno and a shell's answer.
CommandEnd BecomeCommand(const std::vector<std::string>& argv,
                         const std::vector<std::string>& environment);

// Ends this process as `wait_status` says: the same exit code, or death by the same signal with
// no core dump of ours.
[[noreturn]] void EndAs(int wait_status);

}  // namespace crosscut::verbs
