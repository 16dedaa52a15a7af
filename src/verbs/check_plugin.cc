#include "src/verbs/check_plugin.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace crosscut::verbs {

std::string CheckerBeside(const std::string& program) {
  const auto checker = std::filesystem::path(program).parent_path() / "crosscut-check-plugin";
  return access(checker.c_str(), X_OK) == 0 ? checker.string() : "";
}

Status CheckPlugin(const std::vector<std::string>& arguments) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string checker = CheckerBeside(self.string());
  if (checker.empty()) {
    return Status::NotFound("no crosscut-check-plugin beside " + self.string() +
                            "; in a checkout, make setup builds it");
  }
  std::vector<char*> argv = {const_cast<char*>(checker.c_str())};
  for (const std::string& word : arguments) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execv(checker.c_str(), argv.data());
  return Status::Io(checker + ": " + std::strerror(errno));
}

}  // namespace crosscut::verbs
