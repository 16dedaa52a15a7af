// Which rings belong to a run. They may lie in its own directory, where its run.json says
// ("ring_dir"), and in /dev/shm, where anybody's lie.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/format/ring.h"

namespace crosscut::format {

// A run directory as its rings name it.
struct RunFolder {
  // kNotFound where `dir` is no directory.
  static Result<RunFolder> Of(const std::string& dir);

  std::string dir;
  uint64_t device = 0, inode = 0;
  uint32_t owner = 0;    // uid
  std::string run_json;  // its text; "" where there is none
};

struct RunRing {
  std::string path;
  RingTrust trust;    // to open it by
  RingHeader header;  // as it was found
  uint64_t device = 0, inode = 0;
};

struct RunRings {
  std::vector<RunRing> rings;        // by folder and name
  std::vector<std::string> refused;  // "path: why": they name this run and are not taken
};

// The rings that name this run, that belong to its owner or to this user, that nobody else may
// write, and whose file is named as its header says: by process and nonce. Strangers' files are not
// opened. Where a process has ended is not looked at: RingFile::Owner.
RunRings FindRings(const RunFolder& run);

}  // namespace crosscut::format
