// tensorflow install, remove, status.
#include "src/verbs/tensorflow.h"

#include <memory>
#include <string>

#include "src/cli/commands.h"
#include "src/verbs/recording/record_environment.h"

namespace crosscut::cli {
namespace {

using Change = Result<verbs::TensorFlowPlugin> (*)(const std::string&, const std::string&);

std::string PluginLibrary() {
  return verbs::FindPackage(verbs::ThisProgram()).root + "/lib/libcrosscut_tensorflow.so";
}

// `wanted`: whether the plugin should be there afterwards.
int Do(Change change, const std::string& python, bool wanted) {
  const auto plugin = change(python, PluginLibrary());
  if (!plugin.ok()) return Fail(plugin.status());
  const int code = Print(verbs::Describe(*plugin), false);
  return code != kGood || plugin->current == wanted ? code : static_cast<int>(kFinding);
}

Verb Changing(const char* name, const char* description, Change change, bool wanted) {
  const auto python = std::make_shared<std::string>("python3");
  Verb verb(name, "", "", description);
  verb.Take({
      {"--python PATH", python.get(), "the Python whose TensorFlow is meant; default python3"},
  });
  verb.run = [=] { return Do(change, *python, wanted); };
  return verb;
}

}  // namespace

Verb TensorFlowVerb() {
  Verb verb("tensorflow", "Set up", "crosscut tensorflow install",
            "Show Crosscut's events in TensorFlow's own profiles");
  verb.verbs = {
      Changing("tensorflow install", "Put the plugin into a Python's TensorFlow",
               verbs::InstallTensorFlowPlugin, true),
      Changing("tensorflow remove", "Take it out again", verbs::RemoveTensorFlowPlugin, false),
      Changing("tensorflow status", "Show whether it is there; exits with 1 if it is not",
               verbs::FindTensorFlowPlugin, true),
  };
  return verb;
}

}  // namespace crosscut::cli
