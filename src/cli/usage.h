// What is wrong with a command line, in words.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace crosscut::cli {

// Why `app` has no verb `word`: the nearest one, or what can be done with the file of that name.
std::string UnknownVerb(const CLI::App& app, const std::string& word);

// Writes to stderr what `error` found in the command line of `app`, with the nearest option, and
// whose --help tells more. Returns kUsage.
int FailUsage(const CLI::App& app, const CLI::ParseError& error);

// Writes `head` and the names to stderr, on lines that fit a terminal.
void TalkNames(const std::string& head, const std::vector<std::string>& names);

}  // namespace crosscut::cli
