#include "src/verbs/recording/program_name.h"

#include <algorithm>

#include "src/base/file.h"

namespace crosscut::verbs {

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string ProgramName(const std::vector<std::string>& command) {
  const std::string program = BaseName(command[0]);
  if (!program.starts_with("python")) return program;
  for (size_t i = 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (word == "-m" && i + 1 < command.size()) return command[i + 1];
    if (word == "-c" || word == "-") return program;
    if (word == "-W" || word == "-X") ++i;
    if (word.starts_with("-")) continue;
    return BaseName(word);
  }
  return program;
}

std::string ProcessTitle(int64_t pid) {
  constexpr size_t kMostBytes = 1 << 20;
  const std::string number = std::to_string(pid);
  const auto line = base::ReadSmallFile("/proc/" + number + "/cmdline", kMostBytes);
  std::vector<std::string> words;
  for (size_t at = 0; line.ok() && at < line->size();) {
    const size_t end = std::min(line->find('\0', at), line->size());
    words.push_back(line->substr(at, end - at));
    at = end + 1;
  }
  const std::string name = words.empty() ? "" : ProgramName(words);
  return name.empty() ? "process " + number : name + " (pid " + number + ")";
}

}  // namespace crosscut::verbs
