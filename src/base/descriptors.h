// Files of Crosscut in the program's process. The numbers 0, 1 and 2 are the program's, whether
// they are open or not: the file at 2 may later be one of its data.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace crosscut::base {

// openat(2) that never returns 0, 1 or 2. -1 and errno on failure.
int OpenHigh(const char* path, int flags, mode_t mode = 0, int folder = AT_FDCWD);

// Writes all of `bytes`; false and errno on failure, which raises no signal: EPIPE, EFBIG.
bool WriteAll(int fd, std::string_view bytes);

// Opens /dev/null at those of 0, 1 and 2 that are closed, until exec. For Crosscut's own programs,
// so that no message ends up in a file.
void HoldStandardDescriptors();

// When the file that is open at `fd` was made, in ns since 1970; 0 where the kernel or the file
// system does not tell. A number of an inode comes again as soon as its file is gone; with this
// beside it the file is known for good.
uint64_t MadeNs(int fd);

// Closes all of the calling process's descriptors but these; -1 is none.
void CloseAllBut(int one, int other = -1);

// Declares that the calling thread's table of descriptors is its own and has none of the program's.
void DescriptorsAreOurs();

// Remembers which file descriptor 2 is now. Call it once, before the program runs; before that
// WriteStandardError writes nothing.
void NoteStandardError();
// Writes to the remembered file, if it is still descriptor 2 of the process's main thread; else
// writes nothing. Never waits for a reader, and needs none.
void WriteStandardError(const char* text, size_t bytes);

// While it exists, writes of this thread do not raise that signal, which would end the program:
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
  bool pending_;  // it was pending before, and so stays
};

}  // namespace crosscut::base
