// Runs faults_program in a directory of its own and reads what it recorded.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "src/base/testing/emulator.h"
#include "tests/endtoend/faults/faults_audit.h"

namespace crosscut::faults {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

// Tests that arm a fault point; builds without them carry none.
#ifdef CROSSCUT_FAULT_POINTS
inline constexpr bool kHasFaultPoints = true;
#define NEEDS_FAULT_POINTS() static_cast<void>(0)
#else
inline constexpr bool kHasFaultPoints = false;
#define NEEDS_FAULT_POINTS() GTEST_SKIP() << "built without fault points"
#endif

struct Outcome {
  int status = -1;
  std::string out, err;
  double ms = 0;  // from before its fork to after its wait; of Run() alone
};

class Faults : public testing::Test {
 protected:
  Faults() {
    char path[] = "/tmp/crosscut-faults-XXXXXX";
    dir_ = mkdtemp(path);
    run_ = dir_ + "/run";
  }
  ~Faults() override {
    RemoveRings();
    std::error_code error;
    fs::remove_all(dir_, error);
  }

  // Those of the programs so far.
  void RemoveRings() {
    for (const pid_t pid : pids_) {
      const std::string prefix =
          "crosscut-" + std::to_string(getuid()) + "-" + std::to_string(pid) + "-";
      std::error_code error;
      for (const auto& entry : fs::directory_iterator("/dev/shm", error)) {
        if (entry.path().filename().string().rfind(prefix, 0) == 0) fs::remove(entry, error);
      }
    }
    pids_.clear();
  }

  pid_t Spawn(const Strings& arguments, const Strings& environment = {}) {
    const pid_t pid = fork();
    if (pid == 0) {
      const int out = open((dir_ + "/out").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
      const int err = open((dir_ + "/err").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
      dup2(out, 1);
      dup2(err, 2);
      const rlimit no_core = {0, 0};
      setrlimit(RLIMIT_CORE, &no_core);
      for (const std::string& pair : environment) putenv(strdup(pair.c_str()));
      std::vector<char*> argv = {strdup(program_.c_str())};
      for (const std::string& argument : arguments) argv.push_back(strdup(argument.c_str()));
      argv.push_back(nullptr);
      execv(argv[0], argv.data());
      _exit(127);
    }
    pids_.push_back(pid);
    return pid;
  }

  Outcome Wait(pid_t pid) {
    Outcome outcome;
    waitpid(pid, &outcome.status, 0);
    outcome.out = Contents(dir_ + "/out");
    outcome.err = Contents(dir_ + "/err");
    return outcome;
  }

  Outcome Run(const Strings& arguments, const Strings& environment = {}) {
    const auto begin = std::chrono::steady_clock::now();
    Outcome outcome = Wait(Spawn(arguments, environment));
    outcome.ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    return outcome;
  }

  static std::string Contents(const std::string& path) {
    FILE* file = fopen(path.c_str(), "r");
    if (file == nullptr) return "";
    std::string text;
    char buffer[4096];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, n);
    fclose(file);
    return text;
  }

  std::string dir_, run_, program_ = FAULTS_PROGRAM;
  std::vector<pid_t> pids_;
};

// Sanitizers are slow, keep memory of their own and write about deaths by signal.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// How often something is done: in full, or where that takes too long.
inline uint64_t Count(uint64_t full, uint64_t slow) {
  return kSanitized || base::UnderEmulator() ? slow : full;
}

}  // namespace crosscut::faults
