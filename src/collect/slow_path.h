// What interrupts a mark on its own thread: a signal handler, an allocator's hook. In the middle of
// a mark a thread's state and the recorder's locks are not as the next mark needs them, so what is
// marked then is counted as lost. The inline path tells by `busy` of the thread's state, the rest
// by SlowPath.
#pragma once

#include "src/collect/thread_state.h"

namespace crosscut::record {

// States that threads share and that nobody marks busy, on a page that forks wipe: of threads
// without one, and of threads that have ended but still run destructors.
crosscut_thread* OffState();
crosscut_thread* EndedState();
// Of threads that calibrate.
extern ThreadState suspended_state;
// Once, when the library is loaded.
void WipeSharedStatesOnFork();
// Whether this process, and not one that it was copied from, has said that it has a session.
// Without a system call: at a process's end a filter of its own (seccomp) may forbid every new one.
void SayThatSessionIsHere();
bool IsSessionHere();

// While it lives, the calling thread is inside a mark. They nest. A state that the thread gets
// meanwhile is made busy by who gives it.
class SlowPath {
 public:
  SlowPath();
  ~SlowPath();
  SlowPath(const SlowPath&) = delete;
  SlowPath& operator=(const SlowPath&) = delete;
  // In a forked child: whatever the thread was in.
  static void Forget();

 private:
  const bool outer_;
};

// Whether the calling thread is inside a mark already.
bool Interrupts();

}  // namespace crosscut::record
