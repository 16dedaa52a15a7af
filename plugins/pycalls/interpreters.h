// Which interpreter of the process calls. All of them share the tables that hold thunks, and from
// 3.12 on each may have a GIL of its own; what is ours is under the main one's.
#pragma once

#include "python.h"

namespace crosscut::pycalls {

extern PyInterpreterState* const g_main_interpreter;
// Where CPython keeps the newest of them: the main one where there is no other. Not known: null.
extern PyInterpreterState* const* const g_newest_interpreter;

// Asks the thread, which costs a call.
bool MainInterpreterRuns();

// Whether the main interpreter runs on this thread, which is in a call from a table.
inline bool IsMainsCall() {
  if (__builtin_expect(
          __atomic_load_n(g_newest_interpreter, __ATOMIC_RELAXED) == g_main_interpreter, 1)) {
    return true;
  }
  return MainInterpreterRuns();
}

// A call of another interpreter is not recorded: tells so, once a session.
void TellOfOtherInterpreters();

}  // namespace crosscut::pycalls
