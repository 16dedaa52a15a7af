// Runs a command and captures its output; what exec takes.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"

namespace crosscut::base {

struct Captured {
  int wait_status = 0;  // as from waitpid()
  std::string text;     // stdout and stderr, in the order of writing
};

// The texts as exec takes them: pointers into them, and a null one at the end.
std::vector<char*> Pointers(const std::vector<std::string>& texts);

// Waits for the end. argv[0] is looked up in PATH; the environment is this process's. kIo where the
// command cannot be started.
Result<Captured> RunAndCapture(const std::vector<std::string>& argv);

// The last line of a command's output, without its newline; "" where there is none.
std::string LastLine(std::string text);

}  // namespace crosscut::base
