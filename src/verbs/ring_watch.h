// Keeps children that come and go from filling the memory that rings lie in: while the command
// runs, what ended processes left is taken out of their rings.
#pragma once

#include <set>
#include <string>

namespace crosscut::verbs {

class RingWatch {
 public:
  explicit RingWatch(std::string run_dir) : run_dir_(std::move(run_dir)) {}

  // Reaps the run where a process has ended since the last look and left a ring; else it costs two
  // listings. Rings of living processes are left alone.
  void Look();

 private:
  // Adds the rings of dead processes in `dir` to `known_`; whether one is new.
  bool FindNew(const std::string& dir);

  std::string run_dir_;
  std::set<std::string> known_;
};

}  // namespace crosscut::verbs
