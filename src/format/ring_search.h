// Finds the rings that belong to a run. They may lie in its own directory, in the folder that its
// run.json names ("ring_dir"), and in /dev/shm, where everybody's lie.
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
  // Of an open directory, which may have no name any more; without run.json.
  static RunFolder Of(int fd);

  std::string dir;
  uint64_t device = 0, inode = 0, made_ns = 0;
  uint32_t owner = 0;    // uid
  std::string run_json;  // its text; "" where there is none
  Status unread;         // why it is not known whether there is one
};

// Whether the ring names this run, and no removed one whose directory's number this run's has now.
bool IsRingOf(const RunFolder& run, const RingHeader& ring);

struct RunRing {
  std::string path;
  RingTrust trust;    // for opening it
  RingHeader header;  // as it was found
  uint64_t device = 0, inode = 0;
};

struct RunRings {
  std::vector<RunRing> rings;        // by folder and name
  std::vector<std::string> refused;  // "path: why": they name this run but are not accepted
};

// The rings that name this run, belong to its owner or to this user, are writable by nobody else,
// and have a file name that fits their header (process and nonce). Strangers' files are not opened.
// Does not check whether a process has ended: RingFile::Owner.
RunRings FindRings(const RunFolder& run);

}  // namespace crosscut::format
