#include "src/verbs/recording/ring_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/base/descriptors.h"
#include "src/base/process.h"
#include "src/format/reap.h"
#include "src/format/ring_search.h"
#include "src/verbs/recording/ring_watch.h"

namespace crosscut::verbs {
namespace {

// Nothing of the caller's stays open: who reads its output waits until all have closed it.
void KeepOnly(int one, int other) {
  base::CloseAllBut(one, other);
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

// It is in the way of no signal: those that a batch system sends to all processes of a job do not
// end it while `record` goes on.
[[noreturn]] void Guard(const std::string& run_dir, int folder, pid_t command, int alive) {
  setsid();
  prctl(PR_SET_NAME, "crosscut-guard");
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  KeepOnly(folder, alive);
  const base::ProcessIdentity identity = base::IdentityOf(command);
  char word;
  while (read(alive, &word, 1) < 0 && errno == EINTR) {
  }
  SeeToRings(run_dir, folder, identity);
  _exit(0);
}

}  // namespace

void RingGuard::Begin(const std::string& run_dir, int folder, pid_t command) {
  run_dir_ = run_dir;
  folder_ = folder;
  command_ = command;
  if (folder >= 0) Fork();
}

void RingGuard::Fork() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  guard_ = fork();
  if (guard_ == 0) Guard(run_dir_, folder_, command_, ends[0]);
  close(ends[0]);
  alive_ = ends[1];
}

void RingGuard::Renew() {
  if (guard_ <= 0 || waitpid(guard_, nullptr, WNOHANG) != guard_) return;
  close(alive_);
  guard_ = alive_ = -1;
  Fork();
}

// By a signal that it cannot withstand, stopped or not, and while it still sees this process alive.
RingGuard::~RingGuard() {
  if (guard_ > 0) {
    kill(guard_, SIGKILL);
    while (waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (alive_ >= 0) close(alive_);
}

}  // namespace crosscut::verbs
