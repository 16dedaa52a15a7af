// A Python process that waits for `crosscut start`: whose thread carries out requests, and what it
// does around a window. All functions need the GIL.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace crosscut::python {

// arm(window, **options of start) -> a CROSSCUT_E* code. Requests that wait for no step are carried
// out by the main thread, between two of its bytecodes (a pending call of the interpreter: nothing
// is in place before one is asked for), or by the library's thread where that one is blocked.
// `window(begins)` is called just before a window begins (True) and just after it ended (False), on
// the thread that carries the request out; what it raises is printed as an unraisable exception.
// May be called again in a forked child.
PyObject* Arm(PyObject*, PyObject* args, PyObject* keywords);

}  // namespace crosscut::python
