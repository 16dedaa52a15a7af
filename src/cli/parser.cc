// Carries the table of arguments out with CLI11. No other file includes that: it takes seconds to
// compile, and differs between distributions, which have 2.1 to 2.6 of it.
#include "src/cli/parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/base/nearest.h"
#include "src/cli/commands.h"
#include "src/cli/texts.h"

namespace crosscut::cli {
namespace {

// Adds an argument by the type of what its value goes to.
struct Add {
  CLI::App* app;
  const Argument& argument;

  CLI::Option* operator()(std::monostate /*nothing*/) const {
    return app->add_option(argument.name, argument.description);
  }
  CLI::Option* operator()(bool* to) const { return app->add_flag(argument.name, *to); }
  CLI::Option* operator()(const Setter& to) const {
    return app->add_option_function<std::string>(argument.name, to);
  }
  template <class T>
  CLI::Option* operator()(T* to) const {
    return app->add_option(argument.name, *to);
  }
  template <class T>
  CLI::Option* operator()(std::vector<T>* to) const {
    CLI::Option* option = app->add_option(argument.name, *to);
    if (argument.shown.ends_with(",...")) option->delimiter(',');
    if (argument.repeated) return option;
    if (argument.positional()) return option->expected(0, 1);
    option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    return option->allow_extra_args(false);  // or it takes the words behind its value, too
  }
};

Check OneOf(const Rules& rules) {
  return [&rules](const std::string& text) {
    const auto& words = rules.words;
    const bool known = std::find(words.begin(), words.end(), text) != words.end();
    return known ? std::string() : base::UnknownName(rules.only, text, words);
  };
}

void AddArgument(CLI::App* app, const Argument& argument) {
  const Rules& rules = argument.rules;
  CLI::Option* option = std::visit(Add{app, argument}, argument.target);
  option->required(rules.required);
  if (*rules.only != '\0') option->transform(CLI::Validator(OneOf(rules), ""));
  if (rules.check) option->transform(CLI::Validator(rules.check, ""));
  if (*rules.excludes != '\0') option->excludes(rules.excludes);
  // Not inside a recorded program: its settings there are those of the outer recording.
  if (*rules.environment != '\0' && std::getenv("CROSSCUT_RUN") == nullptr) {
    option->envname(rules.environment);
  }
}

// CLI11 up to 2.3 refuses what is wrong in an environment variable as it does in an argument; later
// ones leave the variable out and say nothing. Throws what the former throw.
void RefuseWrongSettings(CLI::App* app) {
  for (CLI::Option* option : app->get_options()) {
    const std::string variable = option->get_envname();
    const char* value = variable.empty() ? nullptr : std::getenv(variable.c_str());
    if (value == nullptr || *value == 0 || option->count() > 0) continue;
    option->add_result(value);
    option->run_callback();
  }
}

// The verb that is parsed becomes `*chosen`.
void AddVerb(CLI::App* above, const Verb& verb, const Verb** chosen) {
  CLI::App* app = above->add_subcommand(verb.last_name());
  for (const auto* arguments : {&verb.positionals, &verb.options}) {
    for (const Argument& argument : *arguments) {
      if (argument.long_name != "--help") AddArgument(app, argument);  // which it has by itself
    }
  }
  app->allow_extras(verb.words != nullptr);
  if (!verb.verbs.empty()) app->require_subcommand(1);
  for (const Verb& inner : verb.verbs) AddVerb(app, inner, chosen);
  app->callback([=, &verb] {
    RefuseWrongSettings(app);
    if (verb.run) *chosen = &verb;
  });
}

// The innermost verb that the words lead to.
struct Reached {
  const CLI::App* app;
  const Verb* verb;
};
Reached Innermost(const CLI::App& app, const Verb& program) {
  Reached at = {&app, &program};
  while (!at.app->get_subcommands().empty()) {
    at.app = at.app->get_subcommands().front();
    at.verb = FindVerb(*at.verb, at.app->get_name());
  }
  return at;
}

// CLI11's own words, which differ between its versions, begin with what they are about.
std::string Explain(const CLI::App& app, const Reached& at, const CLI::ParseError& error) {
  const std::string words = error.what();
  const std::string about = words.substr(0, words.find_first_of(": "));
  const std::vector<std::string> extra = app.remaining(/*recurse=*/true);
  const auto is = [&error](CLI::ExitCodes code) {
    return error.get_exit_code() == static_cast<int>(code);
  };
  const bool verbs = !at.verb->verbs.empty();
  if (!extra.empty() &&
      (is(CLI::ExitCodes::ExtrasError) || (is(CLI::ExitCodes::RequiredError) && verbs))) {
    return Unexpected(*at.verb, extra.front());
  }
  if (is(CLI::ExitCodes::RequiredError)) return "no " + (verbs ? "verb" : about) + " is given";
  if (is(CLI::ExitCodes::ArgumentMismatch)) {
    const CLI::Option* option = at.app->get_option_no_throw(about);
    const bool many =
        option != nullptr && static_cast<int>(option->count()) > option->get_expected_max();
    return many ? "unexpected argument " + option->results().back()
                : about + ": its value is missing";
  }
  return words;
}

// Where the command begins that a verb runs: crosscut record [OPTIONS] [--] COMMAND...
struct CommandWords {
  std::vector<std::string> options;  // those in front of the command, "--" left out
  std::vector<std::string> command;
};

// Whether `word` is an option whose value is the next word: not behind "=", nor behind its letter.
bool TakesNext(std::span<const Verb* const> verbs, std::string_view word) {
  for (const Verb* verb : verbs) {
    for (const Argument& option : verb->options) {
      if (word == option.short_name || word == option.long_name) return option.takes_value();
    }
  }
  return false;
}

// Takes apart the words behind the verb. The command begins behind "--", or else with the first
// word that is neither an option nor the value of an option that one of `verbs` takes. Unknown
// options count as options without a value: whoever parses them refuses them.
CommandWords SplitAtCommand(std::span<const Verb* const> verbs, std::span<char* const> words) {
  CommandWords out;
  size_t at = 0;
  while (at < words.size()) {
    const std::string_view word = words[at];
    if (word == "--") {
      ++at;
      break;
    }
    if (!word.starts_with('-') || word == "-") break;
    const size_t count = TakesNext(verbs, word) ? 2 : 1;
    for (size_t end = std::min(at + count, words.size()); at < end; ++at) {
      out.options.emplace_back(words[at]);
    }
  }
  out.command.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  return out;
}

// The words that are to be parsed, and the command behind them where the verb runs one.
CommandWords Split(const Verb& program, std::span<char* const> words) {
  const Verb* verb = FindVerb(program, words.front());
  if (verb == nullptr || !verb->runs_command()) return {{words.begin(), words.end()}, {}};
  std::vector<const Verb*> options = {verb};
  if (const Verb* other = FindVerb(program, verb->options_of)) options.push_back(other);
  CommandWords parts = SplitAtCommand(options, words.subspan(1));
  parts.options.insert(parts.options.begin(), words.front());
  return parts;
}

// In the order that CLI11 wants, the last one first. It takes the next word for the value of
// "--name=", which is an empty one.
std::vector<std::string> Backwards(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  const auto end = std::find(words.begin(), words.end(), "--");
  for (auto word = words.begin(); word != words.end(); ++word) {
    const bool empty = word < end && word->starts_with("--") && word->find('=') == word->size() - 1;
    out.push_back(empty ? word->substr(0, word->size() - 1) : *word);
    if (empty) out.emplace_back();
  }
  std::reverse(out.begin(), out.end());
  return out;
}

// What CLI11 does not put where the table says: the words that it did not read, or took apart.
void Give(const Verb& verb, const CommandWords& words) {
  if (verb.words != nullptr) verb.words->assign(words.options.begin() + 1, words.options.end());
  if (!verb.runs_command()) return;
  *std::get<std::vector<std::string>*>(verb.positionals.front().target) = words.command;
}

int Parse(const Verb& program, const CommandWords& words) {
  CLI::App app;
  app.set_version_flag("--version", CROSSCUT_VERSION);
  app.require_subcommand(1);
  const Verb* chosen = nullptr;
  for (const Verb& verb : program.verbs) AddVerb(&app, verb, &chosen);
  try {
    app.parse(Backwards(words.options));
  } catch (const CLI::CallForHelp&) {
    return Print(HelpText(*Innermost(app, program).verb), false);
  } catch (const CLI::CallForVersion&) {
    return Print(CROSSCUT_VERSION "\n", false);
  } catch (const CLI::ParseError& error) {
    const Reached at = Innermost(app, program);
    return FailUsage(*at.verb, Explain(app, at, error));
  }
  if (chosen == nullptr) return kUsage;
  Give(*chosen, words);
  return chosen->run();
}

}  // namespace

int ParseAndRun(const Verb& program, std::span<char* const> words) {
  const std::string first = words.front();
  const Verb* verb = FindVerb(program, first);
  if (verb == nullptr && !first.starts_with('-')) {
    return FailUsage(program, UnknownVerb(program, first));
  }
  const CommandWords parts = Split(program, words);
  if (verb == nullptr || !verb->passes_all_on()) return Parse(program, parts);
  Give(*verb, parts);
  return verb->run();
}

}  // namespace crosscut::cli
