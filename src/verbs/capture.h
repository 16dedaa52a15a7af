// Runs a command of our own and takes what it prints.
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"

namespace crosscut::verbs {

struct Captured {
  int wait_status = 0;  // as from waitpid()
  std::string text;     // stdout and stderr, in the order of writing
};

// Waits for the end. argv[0] is looked up in PATH; the environment is this process's. Fails where
// the command cannot be started.
Result<Captured> RunAndCapture(const std::vector<std::string>& argv);

// Of what a command printed, without its newline; "" where it printed nothing.
std::string LastLine(std::string text);

}  // namespace crosscut::verbs
