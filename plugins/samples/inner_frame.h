// What a running Python function leaves in memory, as far as it is read: the header that declares
// the interpreter's own frame is no public one.
#pragma once

#include <Python.h>
#include <frameobject.h>

#include <cstdint>

namespace crosscut::samples {

#if PY_VERSION_HEX >= 0x030c0000  // 3.12 and 3.13
struct InnerFrame {
  const void* code;
  const InnerFrame* previous;
  const void *function, *globals, *builtins, *locals, *object;
  const char* instruction;
  int stack_top;
  uint16_t return_offset;
  char owner;
};
constexpr char kOwnedByInterpreter = 3;  // where native code calls Python: no function
#elif PY_VERSION_HEX >= 0x030b0000
struct InnerFrame {
  const void *function, *globals, *builtins, *locals;
  const void* code;
  const void* object;
  const InnerFrame* previous;
  const char* instruction;
};
#else
using InnerFrame = PyFrameObject;
#endif

}  // namespace crosscut::samples
