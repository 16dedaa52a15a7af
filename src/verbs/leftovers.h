// Rings in /dev/shm whose process has ended and that nobody has taken the rest out of: what a power
// cut, or SIGKILL of everything at once, leaves. `crosscut doctor [--clean]`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace crosscut::verbs {

struct RingCount {
  uint64_t rings = 0;
  uint64_t bytes = 0;  // of memory
};

// Of this user's rings; others' are not opened.
struct Leftovers {
  RingCount ended;    // nobody needs them but the reader of their run
  RingCount in_use;   // of processes that live, whatever their pid namespace
  RingCount unknown;  // of another pid namespace, made by a version that leaves no mark
};
Leftovers CountLeftovers();

struct CleanedRings {
  RingCount emptied;  // into the logs of their run, which was found
  RingCount removed;  // their run was not found where it was recorded: removed or moved
  std::vector<std::string> problems;  // "path: why" of rings that stay
  Leftovers left;
};
// Removes `ended`. What another command takes meanwhile is not counted.
CleanedRings CleanLeftovers();

}  // namespace crosscut::verbs
