// Tells signals that are sent to the whole job, or to its process group, from those that are sent
// to `crosscut record` alone: a process beside the command gets the former, too. The command has
// those already and must not get them twice.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace crosscut::verbs {

// Whether the signal waits to be taken in that process, which has no processor yet or blocks it.
bool IsPending(pid_t process, int signal);

class SignalWitness {
 public:
  SignalWitness() = default;
  ~SignalWitness();
  SignalWitness(const SignalWitness&) = delete;
  SignalWitness& operator=(const SignalWitness&) = delete;

  // Forks; requires a program with one thread that has all signals blocked. The witness stays in
  // the process group, keeps no descriptor of the caller's open, ignores every signal that can be
  // ignored and ends with the caller. If no process can be made, there is no witness.
  void Begin();

  // Makes another where somebody ended it. Call it at each SIGCHLD.
  void Renew();

  // Whether the witness got a signal, too, that a process sent to the caller, who took it at
  // `taken_ns` (base::MonotonicNs). kNotYet for at most a tenth of a second, two where the witness
  // gets no processor: ask again, of the signal that was taken first.
  enum class Verdict { kHasIt, kHasNot, kNotYet };
  Verdict Of(const siginfo_t& info, int64_t taken_ns);

 private:
  struct Report {
    int signal = 0;
    pid_t sender = 0;
    int64_t taken_ns = 0;  // by the witness
    bool used = false;     // for one of the caller's
  };
  void ReadReports();
  [[noreturn]] static void Watch(int reports, pid_t caller);

  pid_t witness_ = -1;
  int reports_ = -1;
  std::vector<Report> seen_;  // of the last seconds
};

}  // namespace crosscut::verbs
