// The argument tables as plain data, for what is generated from them: completion, the manual page.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace crosscut::cli {

struct Argument {
  std::string short_name, long_name;  // "-o", "--plan"; of a positional both are ""
  std::string value;                  // what help calls its value: "PLAN"; "" of a flag
  std::string description;
  std::vector<std::string> words;  // what the value may be, or mostly is; else it is a file or free
  bool is_file = false;            // the value is a path
  bool repeated = false;           // of a positional: it takes all words that follow

  bool positional() const { return short_name.empty() && long_name.empty(); }
  bool takes_value() const { return !value.empty(); }
};

struct Verb {
  std::string name;  // "tensorflow install" of a verb in a verb
  std::string description, group, example, notes;
  std::vector<Argument> options, positionals;
  std::vector<Verb> verbs;
  bool runs_command = false;  // what follows its options is a command of its own
};

struct CommandTable {
  std::string version, description, notes;
  std::vector<Verb> verbs;  // in the order of help
};

CommandTable TableOf(CLI::App* app);

// One line: breaks become spaces.
std::string OneLine(std::string text);
// The first clause of a description, as completion shows it.
std::string Brief(const std::string& description);

}  // namespace crosscut::cli
