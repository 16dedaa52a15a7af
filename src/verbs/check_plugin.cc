#include "src/verbs/check_plugin.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "src/base/capture.h"
#include "src/verbs/recording/record_environment.h"

namespace crosscut::verbs {

std::string CheckerBeside(const std::string& program) {
  const auto checker = std::filesystem::path(program).parent_path() / "crosscut-check-plugin";
  return access(checker.c_str(), X_OK) == 0 ? checker.string() : "";
}

Status CheckPlugin(const std::vector<std::string>& arguments) {
  const std::string self = ThisProgram(), checker = CheckerBeside(self);
  if (checker.empty()) {
    return Status::NotFound("no crosscut-check-plugin beside " + self +
                            "; in a checkout, make setup builds it");
  }
  std::vector<std::string> argv = {checker};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  execv(checker.c_str(), base::Pointers(argv).data());
  return Status::Io(checker + ": " + std::strerror(errno));
}

}  // namespace crosscut::verbs
