#include "src/verbs/recording/record_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <deque>

#include "src/base/capture.h"
#include "src/base/time.h"
#include "src/verbs/recording/signal_witness.h"

namespace crosscut::verbs {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

// What the command must find as we found it.
struct SignalState {
  sigset_t mask;
  struct sigaction child;
};

SignalState BlockSignals() {
  SignalState old;
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &old.mask);
  // Where SIGCHLD is ignored the kernel reaps children by itself and their status is lost.
  struct sigaction normal = {};
  normal.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &normal, &old.child);
  return old;
}

// Once a byte comes: a signal to the whole group must find the witness there, too.
[[noreturn]] void Become(char** argv, char** environment, const SignalState& signals, int report) {
  char go;
  while (read(report, &go, 1) < 0 && errno == EINTR) {
  }
  sigaction(SIGCHLD, &signals.child, nullptr);
  sigprocmask(SIG_SETMASK, &signals.mask, nullptr);
  execvpe(argv[0], argv, environment);
  const int error = errno;
  while (write(report, &error, sizeof error) < 0 && errno == EINTR) {
  }
  _exit(WEXITSTATUS(StatusWhereNotStarted(error)));
}

// A child that stopped for job control must look stopped to our parent too: a shell waits for us,
// not for it. `from_terminal`: a stop request of the terminal reached both of us.
void MirrorStop(int stop_signal, bool from_terminal) {
  const bool job_control =
      stop_signal == SIGTSTP || stop_signal == SIGTTIN || stop_signal == SIGTTOU;
  if (job_control || (stop_signal == SIGSTOP && from_terminal)) raise(SIGSTOP);
}

class Waiter {
 public:
  Waiter(pid_t child, SignalWitness* witness, const std::function<void()>& each_second)
      : child_(child), witness_(witness), each_second_(each_second) {}

  int UntilEnd() {
    sigset_t all;
    sigfillset(&all);
    int status = 0;
    next_second_ = base::MonotonicNs() + kSecondNs;
    while (!Ended(&status)) {
      siginfo_t info;
      timespec wait;
      const int signal = sigtimedwait(&all, &info, WaitsFor(&wait) ? &wait : nullptr);
      if (signal == SIGCHLD) witness_->Renew();
      if (signal > 0 && signal != SIGCHLD) Take(info);
      PassOn();
      if (!each_second_ || base::MonotonicNs() < next_second_) continue;
      each_second_();
      next_second_ = base::MonotonicNs() + kSecondNs;
    }
    return status;
  }

 private:
  bool Ended(int* status) {
    for (;;) {
      const pid_t pid = waitpid(child_, status, WNOHANG | WUNTRACED);
      if (pid < 0 && errno == EINTR) continue;
      if (pid < 0) return true;  // somebody else reaped it: cannot happen, must not spin
      if (pid == 0) return false;
      if (!WIFSTOPPED(*status)) return true;
      MirrorStop(WSTOPSIG(*status), terminal_stop_);
      terminal_stop_ = false;
    }
  }

  // How long to wait for a signal; false: for ever.
  bool WaitsFor(timespec* wait) const {
    constexpr int64_t kWitnessNs = 3'000'000;
    if (!taken_.empty()) {
      *wait = {0, kWitnessNs};
    } else {
      const int64_t left = std::max(next_second_ - base::MonotonicNs(), int64_t{0});
      *wait = {left / kSecondNs, left % kSecondNs};
    }
    return !taken_.empty() || each_second_;
  }

  // What the kernel sends goes to the whole group, but for the alarm that was set before this
  // program was executed.
  void Take(const siginfo_t& info) {
    if (info.si_signo == SIGTSTP) terminal_stop_ = true;
    if (info.si_code <= 0) {
      taken_.push_back({.info = info, .ns = base::MonotonicNs()});
    } else if (info.si_signo == SIGALRM) {
      kill(child_, info.si_signo);
    }
  }

  // In their order: those that the command did not get by itself. One of a number that the command
  // has still before it would be lost there: it waits a little.
  void PassOn() {
    constexpr int64_t kApartNs = 500'000'000;
    while (!taken_.empty()) {
      const int signal = taken_.front().info.si_signo;
      const int64_t since = taken_.front().ns;
      if (taken_.front().verdict == Verdict::kNotYet) {
        taken_.front().verdict = witness_->Of(taken_.front().info, since);
      }
      const Verdict verdict = taken_.front().verdict;
      const bool waits = verdict == Verdict::kHasNot && IsPending(child_, signal) &&
                         base::MonotonicNs() - since < kApartNs;
      if (verdict == Verdict::kNotYet || waits) return;
      if (verdict == Verdict::kHasNot) kill(child_, signal);
      taken_.pop_front();
    }
  }

  using Verdict = SignalWitness::Verdict;
  struct Taken {
    siginfo_t info;
    int64_t ns;
    Verdict verdict = Verdict::kNotYet;
  };
  const pid_t child_;
  SignalWitness* const witness_;
  const std::function<void()>& each_second_;
  int64_t next_second_ = 0;
  std::deque<Taken> taken_;  // signals that processes sent, not yet passed on
  bool terminal_stop_ = false;
};

}  // namespace

Result<CommandEnd> RunCommand(const std::vector<std::string>& argv,
                              const std::vector<std::string>& environment,
                              const std::function<void()>& each_second,
                              const std::function<void(pid_t)>& started) {
  std::vector<char*> arguments = base::Pointers(argv);
  std::vector<char*> variables = base::Pointers(environment);
  int report[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, report) != 0) {
    return Status::Io(std::string("cannot make a pair of sockets: ") + strerror(errno));
  }
  const SignalState signals = BlockSignals();
  CommandEnd end;
  end.pid = fork();
  if (end.pid == 0) {
    close(report[0]);  // so that it sees where this process ends before it goes
    Become(arguments.data(), variables.data(), signals, report[1]);
  }
  close(report[1]);
  if (end.pid < 0) {
    const int error = errno;
    close(report[0]);
    return Status::Io(std::string("cannot start a process: ") + strerror(error));
  }
  SignalWitness witness;
  witness.Begin();
  (void)send(report[0], "", 1, MSG_NOSIGNAL);
  // The socket closes at a successful exec: this read ends before the command's first instruction.
  ssize_t got;
  do {
    got = read(report[0], &end.exec_errno, sizeof end.exec_errno);
  } while (got < 0 && errno == EINTR);
  close(report[0]);
  if (got == 0 && started) started(end.pid);
  end.wait_status = Waiter(end.pid, &witness, each_second).UntilEnd();
  return end;
}

CommandEnd BecomeCommand(const std::vector<std::string>& argv,
                         const std::vector<std::string>& environment) {
  execvpe(argv[0].c_str(), base::Pointers(argv).data(), base::Pointers(environment).data());
  CommandEnd end;
  end.exec_errno = errno;
  end.wait_status = StatusWhereNotStarted(end.exec_errno);
  return end;
}

void EndAs(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0);  // a core pattern that is a pipe does not ask for the limit
    struct sigaction normal = {};
    normal.sa_handler = SIG_DFL;
    sigaction(signal, &normal, nullptr);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    raise(signal);
    _exit(128 + signal);
  }
  _exit(WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 1);
}

}  // namespace crosscut::verbs
