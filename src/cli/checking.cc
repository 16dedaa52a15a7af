// check-plugin: its arguments are the checker's own.
#include <CLI/CLI.hpp>
#include <memory>

#include "src/cli/commands.h"
#include "src/verbs/check_plugin.h"

namespace crosscut::cli {

void AddCheckPlugin(CLI::App* app, Run* run) {
  CLI::App* verb = app->add_subcommand("check-plugin", "Check a plugin against the ABI's rules");
  verb->set_help_flag();
  verb->prefix_command();
  verb->callback(
      [=] { *run = [=]() -> int { return Fail(verbs::CheckPlugin(verb->remaining())); }; });
}

}  // namespace crosscut::cli
