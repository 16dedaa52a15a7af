#include "src/cli/usage.h"

#include <algorithm>
#include <filesystem>

#include "src/base/nearest.h"
#include "src/base/shell_word.h"
#include "src/cli/commands.h"

namespace crosscut::cli {
namespace {

constexpr size_t kColumns = 100;

// The verb that the words lead to, and how it is called: "tensorflow install".
const CLI::App* VerbOf(const CLI::App& app, std::string* called) {
  const CLI::App* verb = &app;
  while (!verb->get_subcommands().empty()) {
    verb = verb->get_subcommands().front();
    *called += " " + verb->get_name();
  }
  return verb;
}

std::vector<std::string> VerbNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(verb->get_name());
  }
  return names;
}

std::vector<std::string> OptionNames(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string Unexpected(const CLI::App& verb, const std::string& word) {
  if (!verb.get_subcommands([](const CLI::App*) { return true; }).empty()) {
    return base::UnknownName("verb", word, VerbNames(verb));
  }
  if (word.size() < 2 || word[0] != '-') return "unexpected argument " + word;
  const std::string option = word.substr(0, word.find('='));
  return "unknown option " + option + base::DidYouMean(option, OptionNames(verb));
}

// CLI11's own words, which differ between its versions, begin with what they are about.
std::string Explain(const CLI::App& verb, const CLI::App& app, const CLI::ParseError& error) {
  const std::string words = error.what();
  const std::string about = words.substr(0, words.find_first_of(": "));
  const std::vector<std::string> extra = app.remaining(/*recurse=*/true);
  const auto is = [&error](CLI::ExitCodes code) {
    return error.get_exit_code() == static_cast<int>(code);
  };
  const bool verbs = !verb.get_subcommands([](const CLI::App*) { return true; }).empty();
  if (!extra.empty() &&
      (is(CLI::ExitCodes::ExtrasError) || (is(CLI::ExitCodes::RequiredError) && verbs))) {
    return Unexpected(verb, extra.front());
  }
  if (is(CLI::ExitCodes::RequiredError)) return "no " + (verbs ? "verb" : about) + " is given";
  if (is(CLI::ExitCodes::ArgumentMismatch)) {
    const CLI::Option* option = verb.get_option_no_throw(about);
    const bool many =
        option != nullptr && static_cast<int>(option->count()) > option->get_expected_max();
    return many ? "unexpected argument " + option->results().back()
                : about + ": its value is missing";
  }
  return words;
}

}  // namespace

std::string UnknownVerb(const CLI::App& app, const std::string& word) {
  std::error_code error;
  std::string out = base::UnknownName("verb", word, VerbNames(app));
  if (!base::Nearest(word, VerbNames(app)).empty()) return out;
  if (std::filesystem::is_directory(word, error)) {
    return out + "; to look at a run: crosscut report " + base::ShellWord(word);
  }
  if (std::filesystem::path(word).extension() == ".py") {
    return out + "; to record a script: crosscut record python " + base::ShellWord(word);
  }
  return out;
}

int FailUsage(const CLI::App& app, const CLI::ParseError& error) {
  std::string called;
  const CLI::App* verb = VerbOf(app, &called);
  Talk(Explain(*verb, app, error));
  Talk("see crosscut" + called + " --help");
  return kUsage;
}

void TalkNames(const std::string& head, const std::vector<std::string>& names) {
  std::string line = head;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string word = names[i] + (i + 1 < names.size() ? "," : "");
    if (line.size() + 1 + word.size() > kColumns - 10) {  // behind "crosscut: "
      Talk(line);
      line = " ";
    }
    line += " " + word;
  }
  Talk(line);
}

}  // namespace crosscut::cli
