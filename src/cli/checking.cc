// check-plugin: its arguments are the checker's own.
#include <memory>

#include "src/cli/commands.h"
#include "src/verbs/check_plugin.h"

namespace crosscut::cli {

Verb CheckPluginVerb() {
  const auto words = std::make_shared<std::vector<std::string>>();
  Verb verb("check-plugin", "Check", "crosscut check-plugin libmychip.so",
            "Check a plugin against the ABI's rules");
  verb.options.clear();
  verb.words = words.get();
  verb.run = [=]() -> int { return Fail(verbs::CheckPlugin(*words)); };
  return verb;
}

}  // namespace crosscut::cli
