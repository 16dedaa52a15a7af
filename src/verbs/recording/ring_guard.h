// A process that stays behind if `crosscut record` is killed while its command runs, until the
// command has ended and no ring of the run is left. Without it nobody would empty the rings.
#pragma once

#include <sys/types.h>

#include <string>

namespace crosscut::verbs {

class RingGuard {
 public:
  RingGuard() = default;
  // Ends the guard before it has done anything: the caller has emptied the rings by then.
  ~RingGuard();
  RingGuard(const RingGuard&) = delete;
  RingGuard& operator=(const RingGuard&) = delete;

  // Forks; requires a program with one thread. `folder`: the run directory `run_dir`, open and
  // locked; the guard keeps that lock. The guard has no terminal and keeps no other descriptor
  // open, and only SIGKILL ends it. `command`: a child of the caller. If no process can be made,
  // there is no guard.
  void Begin(const std::string& run_dir, int folder, pid_t command);
  // Makes another guard where the last one was killed.
  void Renew();

 private:
  void Fork();

  std::string run_dir_;
  int folder_ = -1;
  pid_t command_ = -1;
  pid_t guard_ = -1;
  int alive_ = -1;  // closed when this process ends
};

}  // namespace crosscut::verbs
