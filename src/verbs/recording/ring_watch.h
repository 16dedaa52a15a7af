// Keeps rings from filling the memory in which they lie. While the command runs, the rings of ended
// processes are emptied. After its end, rings of a removed run are removed.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "src/format/reap.h"

namespace crosscut::verbs {

class RingWatch {
 public:
  // `folder`: the run directory `run_dir`, opened before it may have been moved; -1: nobody did.
  explicit RingWatch(std::string run_dir, int folder = -1)
      : run_dir_(std::move(run_dir)), folder_(folder) {}

  // Reaps the run if one of its processes has ended since the last call and left a ring; else it
  // costs two listings. Leaves alone the rings of living processes and of other runs. Does not
  // write another user's run, not even as root, because root would own files there. `wait_ms`: as
  // for ReapRun; the next call tries again.
  void Look(int wait_ms = format::kReapWaitMs);

 private:
  std::string run_dir_;
  int folder_;
  std::set<std::pair<uint64_t, uint64_t>> known_;  // rings by device and inode
};

// Where the run directory is now that was `run_dir` and may have been moved since. `folder`: the
// directory, opened before.
std::string PlaceOfRun(const std::string& run_dir, int folder);

// Removes the rings of a run whose directory was removed, because nobody can read them any more.
// `folder`: the directory, opened before. False where the directory was not removed.
bool RemoveRingsOfRemovedRun(int folder);

}  // namespace crosscut::verbs
