// Runs a command as a child of this process without a visible difference: in the same process
// group, on the same terminal, with signals passed on and stops mirrored.
#pragma once

#include <sys/types.h>

#include <cerrno>
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

// A shell's answer to a command that could not be executed for that errno.
inline int StatusWhereNotStarted(int error) { return (error == ENOENT ? 127 : 126) << 8; }

// Starts `argv` with exactly `environment` ("NAME=value") and waits for its end. Signals of the
// terminal, of the process group and of the whole job reach the command directly; signals that a
// process sends to this process alone are passed on. When the command stops for job control, this
// process stops, too. Blocks all signals and leaves them blocked, so that from here on none but
// SIGKILL ends this process. `each_second` (may be empty) is called about that often while it
// waits; `started` (may be empty) is called once, with the pid, when the command runs. Both may
// not throw. kIo where no process can be made.
Result<CommandEnd> RunCommand(const std::vector<std::string>& argv,
                              const std::vector<std::string>& environment,
                              const std::function<void()>& each_second,
                              const std::function<void(pid_t)>& started);

// Replaces this process with the command, which then needs no further process, thread, file or
// memory. Returns only where it could not be executed, with the errno and a shell's answer.
CommandEnd BecomeCommand(const std::vector<std::string>& argv,
                         const std::vector<std::string>& environment);

// Ends this process as `wait_status` says: with the same exit code, or by the same signal without a
// core dump.
[[noreturn]] void EndAs(int wait_status);

}  // namespace crosscut::verbs
