// Methods of other people's classes as operations: the type `method`.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace crosscut::python {

// Readies the type and adds it to `module` as "method". -1 with an exception on failure.
int AddMethodType(PyObject* module);

}  // namespace crosscut::python
