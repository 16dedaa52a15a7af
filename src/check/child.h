// A test in a process of its own: limits, deadlines, a minimal environment, an empty folder to be
// in, and what became of it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/check/harness/board.h"
#include "src/check/tests.h"

namespace crosscut::check {

struct Outcome {
  std::string id;  // of the test
  std::vector<Finding> findings;
  std::string skip, note;
  std::string trouble;  // why the checker could not run the test; it says nothing of the plugin
  bool fatal = false;
  double seconds = 0;
};

// Not copyable; the object outlives the child.
class Child {
 public:
  // Starts this program again, with the same options(), to run `test`.
  explicit Child(const Test& test);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Looks after it: ends it where a deadline passed. True once it has ended.
  bool Poll();
  // Requires: Poll() was true.
  Outcome Take();

 private:
  bool Start();
  [[noreturn]] void Become();
  std::vector<std::string> Environment() const;
  void KillGroup();
  void JudgeEnding();
  std::string Talk() const;  // the end of what it wrote to stderr
  void Add(Severity severity, const std::string& rule, const std::string& text);

  const Test& test_;
  Board* board_ = nullptr;
  int board_fd_ = -1, output_fd_ = -1, error_fd_ = -1;
  std::string folder_;
  pid_t pid_ = -1;
  int64_t began_ns_ = 0;
  double deadline_;  // of the whole test, seconds
  int wait_status_ = 0;
  Call hung_ = Call::kNone;
  bool timed_out_ = false;
  Outcome outcome_;
};

// The option of this program that makes it a child; its value is a test's id.
inline constexpr const char* kChild = "--child";
// In the child: takes over board and options, sees to crashes, runs the test, ends the process.
[[noreturn]] void RunAsChild(const std::string& id);

}  // namespace crosscut::check
