// help and completion: what is said of the other verbs.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/commands.h"
#include "src/cli/texts.h"

namespace crosscut::cli {
namespace {

// `words`: a verb, or a verb in a verb.
int RunHelp(const Verb& program, const std::vector<std::string>& words) {
  const Verb* verb = &program;
  for (const std::string& word : words) {
    const Verb* inner = FindVerb(*verb, word);
    if (inner == nullptr) return FailUsage(*verb, UnknownVerb(*verb, word));
    verb = inner;
  }
  if (!verb->passes_all_on()) return Print(HelpText(*verb), false);
  *verb->words = {"--help"};  // the help is its own
  return verb->run();
}

std::string Completion(const std::string& shell, const Verb& program) {
  if (shell == "bash") return BashCompletion(program);
  return shell == "zsh" ? ZshCompletion(program) : FishCompletion(program);
}

}  // namespace

Verb HelpVerb(const Verb* program) {
  const auto words = std::make_shared<std::vector<std::string>>();
  const auto man = std::make_shared<bool>(false);
  std::vector<std::string> names = VerbNames(*program);
  names.emplace_back("help");
  Verb verb("help", "Set up", "crosscut help record", "Explain a verb");
  verb.Take({
      {"VERB ...", words.get(), "which; without it, a list of all",
       Rules{.words = std::move(names)}},
      {"--man", man.get(), "print the manual page, for man -l", Rules{.excludes = "VERB"}},
  });
  verb.run = [=] { return *man ? Print(ManPage(*program), false) : RunHelp(*program, *words); };
  return verb;
}

Verb CompletionVerb(const Verb* program) {
  const auto shell = std::make_shared<std::string>();
  Verb verb("completion", "Set up", "crosscut completion bash",
            "Print what makes a shell complete this command");
  verb.Take({
      {"SHELL", shell.get(), "bash, zsh or fish",
       Rules{.required = true, .words = {"bash", "zsh", "fish"}, .only = "shell"}},
  });
  verb.notes =
      "bash: eval \"$(crosscut completion bash)\" in ~/.bashrc\n"
      "zsh:  crosscut completion zsh > DIR/_crosscut, with a DIR of $fpath\n"
      "fish: crosscut completion fish > ~/.config/fish/completions/crosscut.fish";
  verb.run = [=] { return Print(Completion(*shell, *program), false); };
  return verb;
}

}  // namespace crosscut::cli
