#include "src/verbs/recording/start_problem.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>

#include "src/base/file.h"
#include "src/base/lists.h"
#include "src/base/nearest.h"
#include "src/base/shell_word.h"
#include "src/verbs/recording/record_environment.h"

namespace crosscut::verbs {
namespace {

bool IsFile(const std::string& path) {
  struct stat facts;
  return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

// "crosscut record FIRST COMMAND..."
std::string Line(const std::string& first, const std::vector<std::string>& command) {
  std::string line = "crosscut record";
  if (!first.empty()) line += " " + first;
  for (const std::string& word : command) line += " " + base::ShellWord(word);
  return line;
}

// The words of the file's first line behind "#!"; none where it has none.
std::vector<std::string> FirstLine(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line(256, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<size_t>(file.gcount()));
  line.resize(std::min(line.find('\n'), line.size()));
  if (!line.starts_with("#!")) return {};
  std::istringstream words(line.substr(2));
  return {std::istream_iterator<std::string>(words), {}};
}

// What runs the script, without folders and env: "bash"; "" for none.
std::string Interpreter(const std::string& path) {
  for (const std::string& word : FirstLine(path)) {
    const std::string name = word.substr(word.rfind('/') + 1);
    if (name != "env" && !name.starts_with('-')) return name;
  }
  return "";
}

// The interpreter to put in front of a script; "" for what is none.
std::string RunnerOf(const std::string& path, const std::string& folders) {
  if (path.ends_with(".py")) return FindInPath("python", folders).empty() ? "python3" : "python";
  return path.ends_with(".sh") ? "sh" : Interpreter(path);
}

// Names in the folders of PATH. Whether they can be started is asked only of the nearest.
std::vector<std::string> NamesIn(const std::string& path) {
  std::set<std::string> names;
  for (const std::string_view folder : base::Split(path, ':')) {
    const auto there = base::NamesIn(std::string(folder));
    if (there.ok()) names.insert(there->begin(), there->end());
  }
  return {names.begin(), names.end()};
}

std::string NotAFile(const std::string& name, bool bare, int error, const std::string& path) {
  struct stat facts;
  if (stat(name.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode)) return name + " is a folder";
  if (error == ENOENT && bare) {
    return name + ": no such command" + base::DidYouMean(name, NamesIn(path));
  }
  if (error == ENOENT) return name + ": no such file" + base::DidYouMeanFile(name);
  return name + ": " + std::strerror(error);
}

}  // namespace

int StartError(const std::string& name, const std::string& path) {
  struct stat facts;
  if (name.find('/') != std::string::npos) {
    if (stat(name.c_str(), &facts) != 0) return errno;
    return S_ISDIR(facts.st_mode) || access(name.c_str(), X_OK) != 0 ? EACCES : 0;
  }
  if (!FindInPath(name, path).empty()) return 0;
  for (const std::string_view part : base::Split(path, ':')) {
    const std::string folder(part.empty() ? "." : part);
    if (!name.empty() && stat((folder + "/" + name).c_str(), &facts) == 0) return EACCES;
  }
  return ENOENT;
}

std::string StartProblem(const std::vector<std::string>& command, int error,
                         const std::string& path) {
  const std::string& name = command[0];
  const bool bare = name.find('/') == std::string::npos;
  if (!IsFile(name)) return NotAFile(name, bare, error, path);
  const std::string runner = RunnerOf(name, path);
  if (access(name.c_str(), X_OK) != 0) {
    if (runner.empty()) {
      return name + " is not executable; to make it so: chmod +x " + base::ShellWord(name);
    }
    return name + " is a script that is not executable; type: " + Line(runner, command);
  }
  if (bare) {
    std::vector<std::string> here = command;
    here[0].insert(0, "./");
    return name + " lies in this folder, not in PATH; type: " + Line("", here);
  }
  const std::string plain = name + ": " + std::strerror(error);
  if (error != ENOENT) return plain;
  const std::vector<std::string> line = FirstLine(name);
  if (line.empty()) return name + ": the loader that it names is not there";
  return name + ": " + line.front() + ", which its first line names, is not there";
}

}  // namespace crosscut::verbs
