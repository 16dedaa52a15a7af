// What a plugin must leave as it found it in somebody else's process.
#pragma once

#include <signal.h>

#include <cstddef>

namespace crosscut::host {

// Taken on the plugin's thread before a call and compared after it. What the program itself changes
// meanwhile on another thread is not told apart: the findings are a hint, and stop nothing.
class Hygiene {
 public:
  Hygiene();
  // Writes what differs now, as "signal handler of SIGUSR1, locale", into `out`; puts this thread's
  // signal mask and rounding mode back. False: nothing differs.
  bool Differs(char* out, size_t bytes) const;

 private:
  static constexpr int kSignals = 64;
  static unsigned Umask();

  void* handlers_[kSignals + 1];
  sigset_t mask_;
  int rounding_;
  unsigned umask_;
  char locale_[128];
  char cwd_[1024];
};

}  // namespace crosscut::host
