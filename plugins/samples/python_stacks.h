// What Python's threads run, read by another thread that has no GIL and stops nobody. A stack that
// changes while it is read can be a mixture of two moments a microsecond apart; what is no code
// object is left out.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include "code_table.h"

namespace crosscut::samples {

struct PythonThread {
  const void* state;  // its PyThreadState
  int tid;            // 0: not known
};

class PythonStacks {
 public:
  explicit PythonStacks(OwnCode own = {}) : codes_(std::move(own)) {}
  // Under the GIL. False where this interpreter cannot be read: `problem` says why.
  bool Init(const char** problem);

  // From here on without the GIL, on one thread that is not the main one.
  // Threads that have a state of the main interpreter.
  std::vector<PythonThread> Threads();
  // The thread's functions, at most kMostFrames. Empty where the thread runs no Python, or has
  // ended.
  static constexpr size_t kMostFrames = 256;
  const Stack& Read(const PythonThread& thread);

 private:
  const void* oldest_ = nullptr;  // thread state: it is the main thread's, and stays
  const void* interpreter_ = nullptr;
#if PY_VERSION_HEX < 0x030b0000
  long tid_at_ = 0;  // where a pthread_t has its thread's id; 0: not looked for, < 0: not found
#endif
  CodeTable codes_;
  std::vector<Frame> frames_;
  Stack stack_;
};

}  // namespace crosscut::samples
