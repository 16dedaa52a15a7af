// What interrupts a mark on its own thread: a signal handler, an allocator's hook. In the middle of
// a mark a thread's state and the recorder's locks are not as the next mark needs them, so what is
// marked then is counted as lost. The inline path tells by `busy` of the thread's state, the rest
// by SlowPath.
//
// The fork page. A forked child has a copy of the recorder's memory, but neither its threads nor
// its ring (ChunkRing keeps the mapping from children). So whatever lets a thread write stands on
// pages that the kernel shows to children as zero:
//
//   on which page                                           parent           child
//   shared_page           enabled of OffState, EndedState   0 or 2           0
//                         a session is here                 1                0
//   ThreadStates' slabs   enabled, in_use                   0, 1 or 2; true  0; false
//   EnterScratch()'s      enabled                           1 or 2           0
//   OnDemand's            the armed ring's header           its address      null
//
// What holds: in a child that has memory of its own, by fork() or by a bare clone(), every
// `enabled` above reads 0 from the first instruction on, IsSessionHere() is false and no header is
// armed. That needs no handler. The inline path writes nothing, no plugin is started or stopped,
// and AtExit() returns at once. It stays so until the child itself stores there: by
// Recorder::AfterFork(), the handler of fork(), or by a session of its own. The child's children
// find the pages wiped, too.
//
// The rest is the parent's copy until that handler has run: phase, session, ring pointer, and
// crosscut_this_thread, which points at a state that reads zero. Whatever looks at these and not at
// `enabled` (steps, facts, new names) relies on the handler. A vfork child shares the pages:
// nothing is wiped. Nor is it where the kernel cannot (before Linux 4.14): there the handler alone
// switches a child off. suspended_state is on no such page: it is meant to stay 0.
#pragma once

#include "src/collect/thread_state.h"

namespace crosscut::record {

// States that threads share and that nobody marks busy, on a page that forks wipe: of threads
// without one, and of threads that have ended but still run destructors.
crosscut_thread* OffState();
crosscut_thread* EndedState();
// Of threads that calibrate.
extern ThreadState suspended_state;
// Once, when the library is loaded: from here on forks wipe the page of these two.
void WipeSharedStatesOnFork();
// Whether this process, and not one that it was copied from, has said that it has a session.
// Relaxed: a flag by itself; Session's state and Registry's count publish what it stands for.
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
