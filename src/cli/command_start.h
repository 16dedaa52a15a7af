// Where the command begins that a verb runs: crosscut record [OPTIONS] [--] COMMAND...
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/cli/arguments.h"

namespace crosscut::cli {

struct CommandWords {
  std::vector<std::string> options;  // those in front of the command, "--" left out
  std::vector<std::string> command;
};

// Takes apart the words behind the verb. The command begins behind "--", or else with the first
// word that is neither an option nor the value of an option that one of `verbs` takes. Unknown
// options count as options without a value: whoever parses them refuses them.
CommandWords SplitAtCommand(std::span<const Verb* const> verbs, std::span<char* const> words);

}  // namespace crosscut::cli
