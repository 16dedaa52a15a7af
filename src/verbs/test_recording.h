// For tests of `record` and of what it leaves: folders, files, and Record() in the test's process.
#pragma once

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "src/verbs/record.h"

namespace crosscut::verbs {

class TempFolder {
 public:
  TempFolder() {
    char name[] = "/tmp/crosscut-record-test-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline void Write(const std::string& path, const std::string& text, mode_t mode = 0644) {
  std::ofstream(path, std::ios::binary) << text;
  chmod(path.c_str(), mode);
}

inline std::string Read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Record() in this process, whose signal mask it then gets back.
inline Result<RecordOutcome> RecordHere(const RecordOptions& options) {
  sigset_t mask;
  sigprocmask(SIG_BLOCK, nullptr, &mask);
  Result<RecordOutcome> outcome = Record(options);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  return outcome;
}

inline RecordOptions Command(const TempFolder& folder, const std::string& script) {
  RecordOptions options;
  options.command = {"sh", "-c", script};
  options.run_dir = folder / "run";
  return options;
}

}  // namespace crosscut::verbs
