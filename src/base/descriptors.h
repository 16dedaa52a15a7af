// Files of ours in a process that is not ours: the numbers 0, 1 and 2 are the program's, whether
// they are open or not, and what stands at 2 later may be a file of its data.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstddef>

namespace crosscut::base {

// open(2) that never returns 0, 1 or 2. -1 and errno on failure.
int OpenHigh(const char* path, int flags, mode_t mode = 0);

// Puts /dev/null at those of 0, 1 and 2 that are closed, until exec: for programs of ours, so that
// no message ends up in a file.
void HoldStandardDescriptors();

// The calling thread's table of descriptors is its own from now on, with nothing of the program's.
void DescriptorsAreOurs();

// Remembers which file descriptor 2 is now. Once, before the program runs. Nothing is written
// before.
void NoteStandardError();
// Writes to the file that descriptor 2 was then, where it still is descriptor 2 of the process's
// main thread; else nothing. Waits for nobody who reads there, and needs nobody.
void WriteStandardError(const char* text, size_t bytes);

// While it lives, what this thread writes raises no such signal, which would end the program:
// SIGXFSZ for a file beyond RLIMIT_FSIZE (EFBIG), SIGPIPE for a pipe that nobody reads (EPIPE).
class NoSignal {
 public:
  explicit NoSignal(int signal);
  ~NoSignal();
  NoSignal(const NoSignal&) = delete;
  NoSignal& operator=(const NoSignal&) = delete;

 private:
  const int signal_;
  sigset_t before_;
  bool pending_;  // before: not ours to take away
};

}  // namespace crosscut::base
