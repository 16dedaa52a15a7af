// Completion for shells, and the manual page: generated from the argument tables.
#pragma once

#include <string>

#include "src/cli/arguments.h"

namespace crosscut::cli {

std::string BashCompletion(const Verb& program);
std::string ZshCompletion(const Verb& program);
std::string FishCompletion(const Verb& program);

// For man(1), section 1.
std::string ManPage(const Verb& program);

}  // namespace crosscut::cli
