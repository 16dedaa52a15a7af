// What verbs with a result have in common: its format, the terminal, the file of -o.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/cli/values.h"

namespace crosscut::cli {

// Makes the format's number of its name.
template <class Format>
CLI::Validator FormatOf(const std::map<std::string, Format>& formats) {
  std::vector<std::string> names;
  for (const auto& [name, format] : formats) names.push_back(name);
  const CLI::Validator known = OneOf("format", names);
  const auto take = [&formats, known](std::string& text) -> std::string {
    std::string problem = known(text);
    if (problem.empty()) text = std::to_string(static_cast<int>(formats.at(text)));
    return problem;
  };
  return {take, WordLines(names), kWords};
}

// A reader that goes away must not end us by a signal.
void IgnorePipes();
bool ColorWanted();  // whether stdout takes ANSI colours
int TerminalWidth();

std::string KibiBytes(uint64_t bytes);

// Writes where -o says, and says so. Returns the exit code.
int WriteOutput(const std::string& file, const std::string& text, bool incomplete);

}  // namespace crosscut::cli
