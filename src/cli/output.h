// What verbs with a result have in common: its format, the terminal, the file of -o.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/arguments.h"
#include "src/verbs/report.h"

namespace crosscut::cli {

// The option --format: one of the names.
template <class Format>
Argument FormatOption(std::optional<Format>* to, const std::map<std::string, Format>& formats,
                      std::string description) {
  Rules rules{.only = "format"};
  for (const auto& [name, format] : formats) rules.words.push_back(name);
  const auto take = [to, &formats](const std::string& name) { *to = formats.at(name); };
  return {"--format FORMAT", take, std::move(description), std::move(rules)};
}

// Of reports and comparisons, by name.
extern const std::map<std::string, verbs::ReportFormat> kReportFormats;

bool ColorWanted();  // whether stdout takes ANSI colours
int TerminalWidth();
// Whether what -o says, "" by default, is stdout; then tells the view what that takes.
bool IsForStdout(const std::string& file, verbs::View* view);

// The input of verbs that name none: puts the newest run into empty `inputs` and says which on
// stderr. An exit code: kUsage, which it explains, where there is no run here.
int TakeNewest(std::vector<std::string>* inputs);

// Writes what is made of `inputs` where -o says, and says so. Returns the exit code.
int WriteOutput(const std::string& file, const std::vector<std::string>& inputs,
                const std::string& text, bool incomplete);

}  // namespace crosscut::cli
