// What values of options may be: for the check when they are parsed, and for what is generated from
// the argument tables.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace crosscut::cli {

// The validators of this name have as their description the words that a value may be, one a line.
inline constexpr const char* kWords = "words";
std::string WordLines(const std::vector<std::string>& words);
// Takes one of `words`, and says which it may be where it is none of them. `what`: "format".
CLI::Validator OneOf(std::string what, std::vector<std::string> words);
// Takes everything; the words are those that people mostly want.
CLI::Validator Suggest(const std::vector<std::string>& words);

// Take a number with or without a unit (src/base/quantity.h), in that range, and leave it as a
// plain number of seconds or as whole MiB.
CLI::Validator Seconds(double least, double most);
CLI::Validator Mebibytes(double least, double most);

// Takes a whole number in that range.
CLI::Validator WholeNumber(uint64_t least, uint64_t most);

// Takes the number of a step.
CLI::Validator StepNumber();

// Takes a number of percent of at least 0, with or without the sign, and leaves the plain number.
CLI::Validator Percent();

// CLI11 up to 2.3 refuses what is wrong in an environment variable as it does in an argument; later
// ones leave the variable out and say nothing. Throws what the former throw; call it in the verb's
// callback.
void RefuseWrongSettings(CLI::App* verb);

}  // namespace crosscut::cli
