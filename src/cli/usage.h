// What is wrong with a command line, in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/cli/arguments.h"

namespace crosscut::cli {

// Why there is no verb `word` in `above`: the nearest one, or what can be done with the file of
// that name.
std::string UnknownVerb(const Verb& above, const std::string& word);

// What is wrong with a word behind `verb` that it does not take, with the nearest option.
std::string Unexpected(const Verb& verb, const std::string& word);

// Writes to stderr what is wrong, and which --help tells more. Returns kUsage.
int FailUsage(const Verb& verb, std::string_view problem);

// Writes `head` and the names to stderr, on lines that fit a terminal.
void TalkNames(const std::string& head, const std::vector<std::string>& names);

}  // namespace crosscut::cli
