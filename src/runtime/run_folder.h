// The run directory of a session, opened and checked for each file that is made in it: whoever owns
// the folder above it may have put something else in its place meanwhile, perhaps a link to where
// he himself may not write.
#pragma once

#include <stdint.h>

namespace crosscut::record {

// Which directory it is, as fstat shows it, and base::MadeNs().
struct RunIdentity {
  uint64_t device, inode, made_ns;
};

class RunFolder {
 public:
  // fd() is -1 where `path` is another directory by now.
  RunFolder(const char* path, const RunIdentity& identity);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  int fd() const { return fd_; }
  // openat(2) in it, without following a link; never 0, 1 or 2. -1 and errno on failure.
  int Open(const char* name, int flags) const;

 private:
  int fd_;
};

// Which directory `path` is. Returns CROSSCUT_OK or what Fail() said.
int IdentifyRun(const char* path, RunIdentity* identity);
// Whether `crosscut record` has said which directory CROSSCUT_RUN, `path`, is. If it has not, the
// directory may be made.
bool ReadIdentity(const char* path, RunIdentity* identity);

}  // namespace crosscut::record
