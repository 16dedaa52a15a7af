// Python code of Crosscut's own that runs on the program's threads: no profiler, tracer or debugger
// that the program has set sees it.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace crosscut::python {

// While one lives, the calling thread reports nothing to sys.setprofile, sys.settrace or
// sys.monitoring. They nest. Needs the GIL at both ends.
class Unseen {
 public:
  Unseen();
  ~Unseen();
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;

 private:
  PyThreadState* state_;
};

// For calls whose outcome is not the program's: hands back `result` where there is one. Otherwise
// an exception that is an Exception goes to sys.unraisablehook as `callable`'s, and the answer is
// None; null with the exception for others (KeyboardInterrupt: the program's signal handler ran).
PyObject* OursOrNone(PyObject* callable, PyObject* result);

// Tells `callable` of `argument`, unseen, after a call of the program's. `callable` and `argument`
// are borrowed. Hands on `result`; null in its place, with the exception, where the program was
// interrupted.
PyObject* TellUnseen(PyObject* callable, PyObject* argument, PyObject* result);

// Readies the type and adds it to `module` as "unseen". -1 with an exception on failure.
int AddUnseenType(PyObject* module);

}  // namespace crosscut::python
