// A process of ours that stays where `crosscut record` is killed while its command runs, until the
// processes of the run have ended and their rings are empty. Else nobody would look after them.
#pragma once

#include <sys/types.h>

#include <string>

namespace crosscut::verbs {

class RingGuard {
 public:
  RingGuard() = default;
  // Ends the guard, which has done nothing: whoever gets here has seen to the rings.
  ~RingGuard();
  RingGuard(const RingGuard&) = delete;
  RingGuard& operator=(const RingGuard&) = delete;

  // Forks, in a program with one thread. `folder`: the run directory `run_dir`, open and locked;
  // the guard keeps that lock. It has no terminal and keeps no other descriptor open. `command`: a
  // child of the caller. Where there can be no process, there is no guard.
  void Begin(const std::string& run_dir, int folder, pid_t command);

 private:
  pid_t guard_ = -1;
  int alive_ = -1;  // closed when this process ends
};

}  // namespace crosscut::verbs
