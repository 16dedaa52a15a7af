// Calls that are executed elsewhere, whose results are referred to until they are here: spans of
// layer comm around the calls and the waits of this process, and the arrows between those and what
// is executed. A reference is an object with binary(), its task's bytes and its number among the
// task's objects, or has one as `_generator_ref`, as Ray's are.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace crosscut::python {

// Adds to `module`, for adapters: what makes such functions. -1 with an exception.
int AddRemoteFunctions(PyObject* module);

}  // namespace crosscut::python
