// What a running Python function leaves in memory, as far as it is read: the header that declares
// the interpreter's own frame is no public one.
#pragma once

#include <Python.h>
#include <frameobject.h>

#include <cstdint>

namespace crosscut::samples {

// Without a GIL each thread runs a copy of its own.
#if PY_VERSION_HEX >= 0x030e0000 && defined(Py_GIL_DISABLED)
#define CROSSCUT_INSTRUCTION_COPIES
#endif

#if PY_VERSION_HEX >= 0x030c0000  // 3.12 to 3.15
#if PY_VERSION_HEX >= 0x030e0000
using StackTop = const void*;
#else
using StackTop = int;
#endif
struct InnerFrame {
  uintptr_t executable;
  const InnerFrame* previous;
  const void *function, *globals, *builtins, *locals, *object;
  const char* instruction;
  StackTop stack_top;
#ifdef CROSSCUT_INSTRUCTION_COPIES
  int32_t copy;  // of the code object's instructions; 0: those in the object
#endif
  uint16_t return_offset;
  char owner;
};
constexpr char kOwnedByInterpreter = 3;  // and above: where native code calls Python, no function
#elif PY_VERSION_HEX >= 0x030b0000
struct InnerFrame {
  const void *function, *globals, *builtins, *locals;
  uintptr_t executable;
  const void* object;
  const InnerFrame* previous;
  const char* instruction;
  int stack_top;
  char is_entry;  // a bool; but what is read may hold anything
  char owner;
};
#else
using InnerFrame = PyFrameObject;
#endif

#if PY_VERSION_HEX >= 0x030b0000
constexpr char kOwnedByGenerator = 1;
// From 3.14 on the lowest bit says whether the frame owns a reference (_PyStackRef).
constexpr uintptr_t kExecutableTag = PY_VERSION_HEX >= 0x030e0000 ? 1 : 0;
inline const void* CodeOf(const InnerFrame& frame) {
  return reinterpret_cast<const void*>(frame.executable & ~kExecutableTag);
}
#endif

}  // namespace crosscut::samples
