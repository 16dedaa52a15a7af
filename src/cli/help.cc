// help and completion: what is said of the other verbs.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "src/cli/commands.h"
#include "src/cli/completion.h"
#include "src/cli/overview.h"
#include "src/cli/values.h"
#include "src/verbs/check_plugin.h"

namespace crosscut::cli {
namespace {

// `words`: a verb, or a verb in a verb.
int RunHelp(CLI::App* app, const std::vector<std::string>& words) {
  if (words.empty()) {
    const auto mode = CLI::AppFormatMode::Normal;
    return Print(app->get_formatter()->make_help(app, app->get_name(), mode), false);
  }
  CLI::App* verb = app;
  std::string above;
  for (const std::string& word : words) {
    above += (above.empty() ? "" : " ") + verb->get_name();
    verb = FindVerb(verb, word);
    if (verb != nullptr) continue;
    Talk("unknown verb " + word + "; see crosscut --help");
    return kUsage;
  }
  if (verb->get_help_ptr() == nullptr) return Fail(verbs::CheckPlugin({"--help"}));  // its own
  return Print(verb->help(above), false);
}

}  // namespace

void AddHelp(CLI::App* app, Run* run) {
  auto words = std::make_shared<std::vector<std::string>>();
  auto man = std::make_shared<bool>(false);
  CLI::App* verb = app->add_subcommand("help", "Explain a verb");
  std::vector<std::string> names;
  for (const CLI::App* other : app->get_subcommands([](CLI::App*) { return true; })) {
    names.push_back(other->get_name());
  }
  verb->add_option("VERB", *words, "which; without it, a list of all")
      ->check(Suggest(names))
      ->option_text("...");
  verb->add_flag("--man", *man, "print the manual page, for man -l")->excludes("VERB");
  verb->callback([=] {
    *run = [=] { return *man ? Print(ManPage(TableOf(app)), false) : RunHelp(app, *words); };
  });
}

void AddCompletion(CLI::App* app, Run* run) {
  auto shell = std::make_shared<std::string>();
  CLI::App* verb =
      app->add_subcommand("completion", "Print what makes a shell complete this command");
  verb->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(OneOf("shell", {"bash", "zsh", "fish"}))
      ->option_text(" ");
  verb->footer(
      "bash: eval \"$(crosscut completion bash)\" in ~/.bashrc\n"
      "zsh:  crosscut completion zsh > DIR/_crosscut, with a DIR of $fpath\n"
      "fish: crosscut completion fish > ~/.config/fish/completions/crosscut.fish");
  verb->callback([=] {
    *run = [=] {
      const CommandTable table = TableOf(app);
      return Print(*shell == "bash"  ? BashCompletion(table)
                   : *shell == "zsh" ? ZshCompletion(table)
                                     : FishCompletion(table),
                   false);
    };
  });
}

}  // namespace crosscut::cli
