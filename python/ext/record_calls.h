// Calls of functions that a framework compiles into graphs, which may update a model: what each of
// them is, and the step that its end is the end of, without Python but for each graph's first time.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace crosscut::python {

// Adds to `module`, for adapters: compiled_functions(), compiled_function(). -1 with an exception.
int AddCallFunctions(PyObject* module);

// In a forked child: it is in no call.
void ForgetCalls();

}  // namespace crosscut::python
