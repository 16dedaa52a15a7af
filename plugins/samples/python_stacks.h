// What Python's threads run, read by another thread that has no GIL and stops nobody. A stack that
// changes while it is read is read again where that can be seen: a link leads nowhere, a frame runs
// no code object, the outermost is a generator that meanwhile rests. Else it can be a mixture of
// two moments a microsecond apart.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include "code_table.h"

namespace crosscut::samples {

struct PythonThread {
  const void* state;  // its PyThreadState
  int tid;            // 0: not known
  bool has_gil = false;
};

class PythonStacks {
 public:
  explicit PythonStacks(OwnCode own = {}) : codes_(std::move(own)) {}
  // Under the GIL. False where this interpreter cannot be read: `problem` says why.
  bool Init(const char** problem);

  // From here on without the GIL, on one thread that is not the main one.
  // Threads that have a state of the main interpreter, each once.
  std::vector<PythonThread> Threads();
  // The thread's functions, the innermost kMostFrames. Empty where the thread runs no Python, or
  // has ended. Its line of the program's own may be further out, kMostBehind functions at most.
  static constexpr size_t kMostFrames = 256, kMostBehind = 4096;
  const Stack& Read(const PythonThread& thread);
  Gil GilOf(const PythonThread& thread) const;

 private:
  enum class Ending { kOutermost, kDeeper, kGenerator, kChanged };
  // False where the thread has ended.
  bool ReadState(const PythonThread& thread, PyThreadState* state) const;
  Ending Walk(const PyThreadState& state);  // into frames_ and behind_
  uint32_t OwnLineBehind();

  const void* oldest_ = nullptr;  // thread state: it is the main thread's, and stays
  const void* interpreter_ = nullptr;
#if PY_VERSION_HEX < 0x030b0000
  long tid_at_ = 0;  // where a pthread_t has its thread's id; 0: not looked for, < 0: not found
#endif
  CodeTable codes_;
  std::vector<Frame> frames_, before_;
  const void* behind_ = nullptr;  // the frame around them
  Stack stack_;
};

}  // namespace crosscut::samples
