#include "interpreters.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdint>

#include "crosscut/crosscut.h"
#include "crosscut/in_python.h"

namespace crosscut::pycalls {
namespace {

// In CPython's own state (3.10 to 3.15): the newest, the main one, and how many there were. A debug
// build of it, or a later one, may have another order: then each call asks.
struct Interpreters {
  PyInterpreterState* newest;
  PyInterpreterState* main;
  int64_t next_id;
};
constexpr int kMostWords = 256;  // before it
constexpr int64_t kMostInterpreters = 1 << 20;

PyInterpreterState* const unknown = nullptr;

PyInterpreterState* const* FindNewest() {
  const auto* word = static_cast<PyInterpreterState* const*>(dlsym(RTLD_DEFAULT, "_PyRuntime"));
  for (int i = 0; word != nullptr && i < kMostWords; ++i, ++word) {
    const auto* at = reinterpret_cast<const Interpreters*>(word);
    if (at->newest == PyInterpreterState_Head() && at->main == PyInterpreterState_Main() &&
        at->next_id > 0 && at->next_id < kMostInterpreters) {
      return word;
    }
  }
  return &unknown;
}

}  // namespace

PyInterpreterState* const g_main_interpreter = PyInterpreterState_Main();
PyInterpreterState* const* const g_newest_interpreter = FindNewest();

bool MainInterpreterRuns() {
  const PyThreadState* const thread = ThisPythonThread();
  return thread != nullptr && thread->interp == g_main_interpreter;
}

void TellOfOtherInterpreters() {
  static std::atomic<uint32_t> told{0};
  const uint32_t session = crosscut_sessions();
  if (told.exchange(session) == session) return;
  crosscut_source_state("sub-interpreters", RunningVersion(), "missing",
                        "calls of native code by other interpreters than the main one");
}

}  // namespace crosscut::pycalls
