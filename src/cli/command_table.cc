#include "src/cli/command_table.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>

#include "src/cli/overview.h"
#include "src/cli/values.h"

namespace crosscut::cli {
namespace {

constexpr std::string_view kPaths[] = {"FILE", "DIR",     "RUN",    "INPUT",
                                       "PATH", "PID|RUN", "RUN...", "[LABEL=]RUN"};

std::vector<std::string> WordsOf(CLI::Option* option) {
  std::vector<std::string> words;
  try {
    std::istringstream lines(option->get_validator(kWords)->get_description());
    for (std::string word; std::getline(lines, word);) words.push_back(word);
  } catch (const CLI::OptionNotFound&) {
    words.clear();  // it takes anything
  }
  return words;
}

std::string Upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

Argument ArgumentOf(CLI::Option* option) {
  Argument out;
  if (!option->get_snames().empty()) out.short_name = "-" + option->get_snames().front();
  if (!option->get_lnames().empty()) out.long_name = "--" + option->get_lnames().front();
  out.description = option->get_description();
  out.words = WordsOf(option);
  out.value = option->get_option_text();
  const bool free = out.value.empty() || out.value == " " || out.value == "...";
  if (out.positional()) {
    const bool named = !free;
    out.repeated = option->get_expected_max() > 1 || out.value == "...";
    out.value = named ? out.value : Upper(option->get_name(true));
  } else if (option->get_items_expected_max() == 0) {
    out.value.clear();
  }
  out.is_file = std::find(std::begin(kPaths), std::end(kPaths), out.value) != std::end(kPaths);
  return out;
}

Verb VerbOf(CLI::App* app, const std::string& above) {
  Verb out;
  out.name = above + app->get_name();
  out.description = app->get_description();
  out.group = app->get_group();
  out.example = above.empty() ? ExampleOf(*app) : "";
  out.notes = app->get_footer();
  for (CLI::Option* option : app->get_options()) {
    Argument argument = ArgumentOf(option);
    out.runs_command = out.runs_command || argument.value == "COMMAND";
    (argument.positional() ? out.positionals : out.options).push_back(std::move(argument));
  }
  for (CLI::App* verb : app->get_subcommands([](CLI::App*) { return true; })) {
    out.verbs.push_back(VerbOf(verb, out.name + " "));
  }
  return out;
}

}  // namespace

CommandTable TableOf(CLI::App* app) {
  CommandTable out;
  out.version = CROSSCUT_VERSION;
  out.description = app->get_description();
  out.notes = app->get_footer();
  for (CLI::App* verb : app->get_subcommands([](CLI::App*) { return true; })) {
    out.verbs.push_back(VerbOf(verb, ""));
  }
  return out;
}

std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string Brief(const std::string& description) {
  const std::string line = OneLine(description);
  size_t end = line.size();
  for (const std::string_view stop : {". ", "; ", ": ", " (default", "; default"}) {
    end = std::min(end, line.find(stop));
  }
  return line.substr(0, end);
}

}  // namespace crosscut::cli
