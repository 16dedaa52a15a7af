// Runs a command and captures its output.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"

namespace crosscut::base {

struct Captured {
  int wait_status = 0;  // as from waitpid()
  std::string text;     // stdout and stderr, in the order of writing
};

// Waits for the end. argv[0] is looked up in PATH; the environment is this process's. kIo where the
// command cannot be started.
Result<Captured> RunAndCapture(const std::vector<std::string>& argv);

// The last line of a command's output, without its newline; "" where there is none.
std::string LastLine(std::string text);

}  // namespace crosscut::base
