#include "src/base/descriptors.h"

#include <errno.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace crosscut::base {
namespace {

struct File {
  bool writable = false;
  dev_t device = 0;
  ino_t inode = 0;
};
constinit File standard_error = {};
__thread bool ours __attribute__((tls_model("initial-exec"))) = false;

// Not writable where the descriptor is closed.
File FileAt(int fd) {
  struct stat facts;
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || fstat(fd, &facts) != 0) return {};
  return {true, facts.st_dev, facts.st_ino};
}

bool IsStandardError(int fd) {
  const File file = FileAt(fd);
  return file.writable && standard_error.writable && file.device == standard_error.device &&
         file.inode == standard_error.inode;
}

// Descriptor 2 of the process's main thread; -1 where the kernel does not hand it out.
int MainThreadsStandardError() {
#if defined(SYS_pidfd_open) && defined(SYS_pidfd_getfd)
  const auto process = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
  if (process < 0) return -1;
  const auto fd = static_cast<int>(syscall(SYS_pidfd_getfd, process, STDERR_FILENO, 0));
  close(process);
  return fd;
#else
  return -1;
#endif
}

}  // namespace

bool WriteAll(int fd, std::string_view bytes) {
  const NoSignal no_pipe(SIGPIPE), no_limit(SIGXFSZ);
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

int OpenHigh(const char* path, int flags, mode_t mode, int folder) {
  const int fd = openat(folder, path, flags, mode);
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  close(fd);
  errno = error;
  return high;
}

NoSignal::NoSignal(int signal) : signal_(signal) {
  sigset_t pending;
  pending_ = sigpending(&pending) == 0 && sigismember(&pending, signal_) == 1;
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal_);
  pthread_sigmask(SIG_BLOCK, &only, &before_);
}

NoSignal::~NoSignal() {
  const int error = errno;
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal_);
  const timespec now = {};
  while (!pending_ && sigtimedwait(&only, nullptr, &now) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

void HoldStandardDescriptors() {
  for (int fd = 0; fd <= STDERR_FILENO; ++fd) {
    // The wrong way round: reading there and writing there still fails.
    const int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (fcntl(fd, F_GETFD) < 0) (void)open("/dev/null", mode | O_CLOEXEC);
  }
}

uint64_t MadeNs(int fd) {
  struct statx facts;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &facts) != 0 ||
      (facts.stx_mask & STATX_BTIME) == 0) {
    return 0;
  }
  return static_cast<uint64_t>(facts.stx_btime.tv_sec) * 1'000'000'000 + facts.stx_btime.tv_nsec;
}

void CloseAllBut(int one, int other) {
  unsigned from = 0;
  for (const int kept : {std::min(one, other), std::max(one, other)}) {
    if (kept < 0) continue;
    const auto number = static_cast<unsigned>(kept);
    if (number > from) syscall(SYS_close_range, from, number - 1, 0);
    from = number + 1;
  }
  syscall(SYS_close_range, from, ~0U, 0);
}

void DescriptorsAreOurs() { ours = true; }

void NoteStandardError() { standard_error = FileAt(STDERR_FILENO); }

void WriteStandardError(const char* text, size_t bytes) {
  const int fd = ours ? MainThreadsStandardError() : STDERR_FILENO;
  if (fd < 0) return;
  pollfd ready = {fd, POLLOUT, 0};
  if (IsStandardError(fd) && poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0) {
    const NoSignal no_signal(SIGPIPE);
    const ssize_t written = write(fd, text, bytes);
    (void)written;
  }
  if (ours) close(fd);
}

}  // namespace crosscut::base
