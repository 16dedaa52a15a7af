// From the words of a command line to its action.
#pragma once

#include <span>

#include "src/cli/arguments.h"

namespace crosscut::cli {

// Parses the words behind "crosscut", of which there are some, and runs their verb. Returns the
// exit code.
int ParseAndRun(const Verb& program, std::span<char* const> words);

}  // namespace crosscut::cli
