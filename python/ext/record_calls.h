// Calls of functions that a framework compiles, at the first call, and that may update a model:
// what each of them is, decided without Python.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace crosscut::python {

// Adds to `module`, for adapters: compiled_functions(), compiled_function(). -1 with an exception.
int AddCallFunctions(PyObject* module);

}  // namespace crosscut::python
