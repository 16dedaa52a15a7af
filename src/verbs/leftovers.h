// Rings whose process has ended and that nobody has emptied, as a power cut leaves them, or a
// SIGKILL of everything at once. `crosscut doctor [--clean]`. `folder`: where the rings lie.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace crosscut::verbs {

inline constexpr const char* kSharedMemory = "/dev/shm";

struct RingCount {
  uint64_t rings = 0;
  uint64_t bytes = 0;  // of memory
};

// Counts this user's rings; others' are not opened.
struct Leftovers {
  RingCount ended;    // only the reader of their run needs them
  RingCount in_use;   // of processes that are alive, in whatever pid namespace
  RingCount unknown;  // of another pid namespace, by a version that leaves no mark
};
Leftovers CountLeftovers(const std::string& folder = kSharedMemory);

struct CleanedRings {
  RingCount emptied;                  // into the logs of their run
  RingCount removed;                  // their run is no longer where it was recorded
  std::vector<std::string> problems;  // "path: why" of rings that stay
  Leftovers left;
};
// Empties or removes the rings counted as `ended`. Does not count what another command takes
// meanwhile.
CleanedRings CleanLeftovers(const std::string& folder = kSharedMemory);

// Removes this user's rings of ended processes whose run is "<prefix>XXXXXXXX/run", a folder of
// mkdtemp's, and that folder: such a run goes with the process that made it. `prefix`: absolute,
// without links.
void RemoveRunsOfEnded(const std::string& prefix, const std::string& folder = kSharedMemory);

}  // namespace crosscut::verbs
