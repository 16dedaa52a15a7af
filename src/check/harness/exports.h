// What a shared library offers to others, read from its file.
#pragma once

#include <string>
#include <vector>

namespace crosscut::check {

struct Symbols {
  std::vector<std::string> exported;  // defined, global or weak, visible; C++ vague linkage of std
                                      // left out
  std::vector<std::string> needed;    // undefined
};

// Empty where the file is no 64-bit ELF with a section table.
Symbols ReadSymbols(const std::string& path);

}  // namespace crosscut::check
