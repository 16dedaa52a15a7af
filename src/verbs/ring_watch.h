// Keeps rings from filling the memory that they lie in: while the command runs, what ended
// processes left is taken out of theirs; after its end, what a run that is gone has left goes.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace crosscut::verbs {

class RingWatch {
 public:
  explicit RingWatch(std::string run_dir) : run_dir_(std::move(run_dir)) {}

  // Reaps the run where one of its processes has ended since the last look and left a ring; else it
  // costs two listings. Rings of living processes are left alone, and so are other runs'. Another
  // user's run is not written, not even by root: it would own files there.
  void Look();

 private:
  std::string run_dir_;
  std::set<std::pair<uint64_t, uint64_t>> known_;  // rings by device and inode
};

// Where the run directory is now, which was `run_dir` and may have been moved since. `folder`: the
// directory, opened before.
std::string PlaceOfRun(const std::string& run_dir, int folder);

// Removes the rings of a run whose directory was removed: nobody can ever read them. `folder`: the
// directory, opened before. False where it was not removed.
bool RemoveRingsOfRemovedRun(int folder);

}  // namespace crosscut::verbs
