// The verb `import`: makes a run directory of files that other tools wrote.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace crosscut::verbs {

struct Imported {
  uint64_t processes = 0, tracks = 0, spans = 0;
  bool incomplete = false;  // as Output::incomplete
};

// Copies `files` into the new directory `run_dir`, which then reads like a recorded run. It holds
// all of them together, on one clock if they know the time of day. Fails, and leaves nothing
// behind, where a file cannot be read or has no known format, or where `run_dir` exists already.
Result<Imported> ImportFiles(const std::vector<std::string>& files, const std::string& run_dir);

}  // namespace crosscut::verbs
