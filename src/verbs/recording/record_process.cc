#include "src/verbs/recording/record_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>

namespace crosscut::verbs {
namespace {

constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};

// What the command must find as we found it.
struct SignalState {
  sigset_t mask;
  struct sigaction child;
};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

SignalState BlockSignals() {
  SignalState old;
  sigset_t ours;
  sigemptyset(&ours);
  for (int signal : kPassedOn) sigaddset(&ours, signal);
  for (int signal : {SIGTSTP, SIGCONT, SIGCHLD}) sigaddset(&ours, signal);
  sigprocmask(SIG_BLOCK, &ours, &old.mask);
  // Where SIGCHLD is ignored the kernel reaps children by itself and their status is lost.
  struct sigaction normal = {};
  normal.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &normal, &old.child);
  return old;
}

[[noreturn]] void Become(char** argv, char** environment, const SignalState& signals, int report) {
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
  Waiter(pid_t child, const std::function<void()>& each_second)
      : child_(child), each_second_(each_second) {}

  int UntilEnd() {
    sigset_t waited;
    sigemptyset(&waited);
    for (int signal : kPassedOn) sigaddset(&waited, signal);
    for (int signal : {SIGTSTP, SIGCONT, SIGCHLD}) sigaddset(&waited, signal);
    int status = 0;
    while (!Ended(&status)) {
      siginfo_t info;
      const struct timespec second = {1, 0};
      const int signal =
          each_second_ ? sigtimedwait(&waited, &info, &second) : sigwaitinfo(&waited, &info);
      if (signal > 0 && signal != SIGCHLD) Pass(signal, info.si_code <= 0);
      if (signal < 0 && errno == EAGAIN) each_second_();
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

  // The terminal's signals go to the whole group; a process's signal may be for us alone.
  void Pass(int signal, bool from_process) {
    if (signal == SIGTSTP) terminal_stop_ = true;
    if (from_process) kill(child_, signal);
  }

  const pid_t child_;
  const std::function<void()>& each_second_;
  bool terminal_stop_ = false;
};

}  // namespace

Result<CommandEnd> RunCommand(const std::vector<std::string>& argv,
                              const std::vector<std::string>& environment,
                              const std::function<void()>& each_second,
                              const std::function<void(pid_t)>& started) {
  std::vector<char*> arguments = Pointers(argv);
  std::vector<char*> variables = Pointers(environment);
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) {
    return Status::Io(std::string("cannot make a pipe: ") + strerror(errno));
  }
  const SignalState signals = BlockSignals();
  CommandEnd end;
  end.pid = fork();
  if (end.pid == 0) Become(arguments.data(), variables.data(), signals, report[1]);
  close(report[1]);
  if (end.pid < 0) {
    const int error = errno;
    close(report[0]);
    return Status::Io(std::string("cannot start a process: ") + strerror(error));
  }
  // The pipe closes at a successful exec: this read ends before the command's first instruction.
  ssize_t got;
  do {
    got = read(report[0], &end.exec_errno, sizeof end.exec_errno);
  } while (got < 0 && errno == EINTR);
  close(report[0]);
  if (got == 0 && started) started(end.pid);
  end.wait_status = Waiter(end.pid, each_second).UntilEnd();
  return end;
}

CommandEnd BecomeCommand(const std::vector<std::string>& argv,
                         const std::vector<std::string>& environment) {
  execvpe(argv[0].c_str(), Pointers(argv).data(), Pointers(environment).data());
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
