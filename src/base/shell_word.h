// A text as a word of a shell's command line, for lines that are printed to be copied.
#pragma once

#include <string>
#include <string_view>

namespace crosscut::base {

// `word` as it is where a shell takes it so, else in single quotes.
std::string ShellWord(std::string_view word);

}  // namespace crosscut::base
