// The one way into the plugin: marks the call on the board, and tells whether it came back as C
// functions do. An exception, pthread_exit or longjmp that leaves the call is a finding of rule
// C17, and the process ends there: its state is unknown.
#pragma once

#include "src/check/harness/board.h"

namespace crosscut::check {

using Body = void (*)(void* self);

// Any thread. Each kind of call has its own depth of stack, so that a jump into the dead frame of
// an earlier call of another kind lands in memory that still says so.
void Enter(Call call, Body body, void* self);

// Enter() for a lambda.
template <class Function>
void Guarded(Call call, Function function) {
  Enter(
      call, [](void* self) { (*static_cast<Function*>(self))(); }, &function);
}

// While true on this thread, operator new counts and may throw (C17).
extern thread_local bool inside_plugin;

// Where the plugin calls back into the host: what happens in its scope is not the plugin's doing.
class HostSide {
 public:
  HostSide() : before_(inside_plugin) { inside_plugin = false; }
  ~HostSide() { inside_plugin = before_; }
  HostSide(const HostSide&) = delete;
  HostSide& operator=(const HostSide&) = delete;

 private:
  const bool before_;
};

}  // namespace crosscut::check
