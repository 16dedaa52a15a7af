// The first members of a frame of CPython's interpreter, whose own header is no public one. Before
// 3.11 a frame is a PyFrameObject.
#ifndef CROSSCUT_FRAME_H_
#define CROSSCUT_FRAME_H_

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

#include <cstdint>

#if PY_VERSION_HEX >= 0x030c0000

// The same from 3.12 to 3.15.
struct _PyInterpreterFrame {
  uintptr_t executable;  // from 3.13 on no code object where native code calls Python
  _PyInterpreterFrame* previous;
  PyObject *function, *globals, *builtins, *locals, *object;
  const char* instruction;
};

#elif PY_VERSION_HEX >= 0x030b0000

struct _PyInterpreterFrame {
  PyFunctionObject* function;
  PyObject *globals, *builtins, *locals;
  PyCodeObject* code;
  PyFrameObject* object;
  _PyInterpreterFrame* previous;
  const char* instruction;
  int stack_top;
  bool is_entry;
  char owner;
  PyObject* fast[1];  // arguments, and then the other local variables
};
struct _frame {
  PyObject_HEAD PyFrameObject* back;
  _PyInterpreterFrame* inner;
};

#endif

#endif  // CROSSCUT_FRAME_H_
