// Completion for shells, and the manual page: generated from the argument tables.
#pragma once

#include <string>

#include "src/cli/command_table.h"

namespace crosscut::cli {

std::string BashCompletion(const CommandTable& table);
std::string ZshCompletion(const CommandTable& table);
std::string FishCompletion(const CommandTable& table);

// For man(1), section 1.
std::string ManPage(const CommandTable& table);

}  // namespace crosscut::cli
