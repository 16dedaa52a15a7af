#include "src/verbs/recording/ring_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "src/base/process.h"
#include "src/format/reap.h"
#include "src/format/ring_search.h"
#include "src/verbs/recording/ring_watch.h"

namespace crosscut::verbs {
namespace {

// Nothing of the caller's stays open: who reads its output waits until all have closed it.
void KeepOnly(int one, int other) {
  unsigned from = 0;
  for (const int kept : {std::min(one, other), std::max(one, other)}) {
    const auto number = static_cast<unsigned>(kept);
    if (number > from) syscall(SYS_close_range, from, number - 1, 0);
    from = number + 1;
  }
  syscall(SYS_close_range, from, ~0U, 0);
  while (open("/dev/null", O_RDWR | O_CLOEXEC) >= 0) {
    if (fcntl(STDERR_FILENO, F_GETFD) >= 0) return;
  }
}

bool HasRings(const std::string& run_dir) {
  const auto run = format::RunFolder::Of(run_dir);
  return run.ok() && !format::FindRings(*run).rings.empty();
}

// Until the command has ended and no ring of the run is left.
void SeeToRings(const std::string& run_dir, int folder, const base::ProcessIdentity& command) {
  for (;;) {
    const bool ended = base::LookUp(command) == base::Liveness::kDead;
    const std::string place = PlaceOfRun(run_dir, folder);
    if (!RemoveRingsOfRemovedRun(folder)) (void)format::ReapRun(place);
    if (ended && !HasRings(place)) return;
    const timespec second = {1, 0};
    nanosleep(&second, nullptr);
  }
}

[[noreturn]] void Guard(const std::string& run_dir, int folder, pid_t command, int alive) {
  setsid();
  prctl(PR_SET_NAME, "crosscut-guard");
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  KeepOnly(folder, alive);
  const base::ProcessIdentity identity = base::IdentityOf(command);
  char word;
  ssize_t got;
  do {
    got = read(alive, &word, 1);
  } while (got < 0 && errno == EINTR);
  if (got == 0) SeeToRings(run_dir, folder, identity);
  _exit(0);
}

}  // namespace

void RingGuard::Begin(const std::string& run_dir, int folder, pid_t command) {
  int ends[2];
  if (folder < 0 || pipe2(ends, O_CLOEXEC) != 0) return;
  guard_ = fork();
  if (guard_ == 0) Guard(run_dir, folder, command, ends[0]);
  close(ends[0]);
  alive_ = ends[1];
}

RingGuard::~RingGuard() {
  if (alive_ < 0) return;
  if (guard_ > 0) {
    const ssize_t told = write(alive_, "", 1);
    (void)told;
  }
  close(alive_);
  while (guard_ > 0 && waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace crosscut::verbs
