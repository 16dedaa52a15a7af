// tensorflow install, remove, status.
#include "src/verbs/tensorflow.h"

#include <limits.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "src/cli/commands.h"
#include "src/verbs/recording/record_environment.h"

namespace crosscut::cli {
namespace {

struct Args {
  std::string python = "python3";
};
using Verb = Result<verbs::TensorFlowPlugin> (*)(const std::string&, const std::string&);

std::string PluginLibrary() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  const std::string program(path, n > 0 ? static_cast<size_t>(n) : 0);
  return verbs::FindPackage(program).root + "/lib/libcrosscut_tensorflow.so";
}

// `wanted`: whether the plugin should be there afterwards.
int Do(Verb verb, const std::string& python, bool wanted) {
  const auto plugin = verb(python, PluginLibrary());
  if (!plugin.ok()) return Fail(plugin.status());
  const int code = Print(verbs::Describe(*plugin), false);
  return code != kGood || plugin->current == wanted ? code : static_cast<int>(kFinding);
}

}  // namespace

void AddTensorFlow(CLI::App* app, Run* run) {
  struct Action {
    const char *name, *description;
    Verb verb;
    bool wanted;
  };
  static constexpr Action kActions[] = {
      {"install", "Put the plugin into a Python's TensorFlow", verbs::InstallTensorFlowPlugin,
       true},
      {"remove", "Take it out again", verbs::RemoveTensorFlowPlugin, false},
      {"status", "Show whether it is there; exits with 1 if it is not", verbs::FindTensorFlowPlugin,
       true}};
  CLI::App* group =
      app->add_subcommand("tensorflow", "Show Crosscut's events in TensorFlow's own profiles");
  group->require_subcommand(1);
  for (const Action& action : kActions) {
    auto args = std::make_shared<Args>();
    CLI::App* verb = group->add_subcommand(action.name, action.description);
    verb->add_option("--python", args->python,
                     "the Python whose TensorFlow is meant; default python3")
        ->option_text("PATH");
    verb->callback([=] { *run = [=] { return Do(action.verb, args->python, action.wanted); }; });
  }
}

}  // namespace crosscut::cli
