// Awaitables that adapters look into, in C: in Python they would be frames of the program's, which
// its tracebacks show.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace crosscut::python {

// Readies the types and adds them to `module` as "awaiting" and "awaiting_each". -1 with an
// exception on failure.
int AddAwaitingTypes(PyObject* module);

// follow_await(cls, callable): from now on callable(object, result, failed) is told, unseen, where
// an `await object` of a C type `cls` ends while this thread records; None: nobody is. Of one class
// in the process. False where `cls` has no slot for it, or where another class is followed.
PyObject* FollowAwait(PyObject*, PyObject* args);

}  // namespace crosscut::python
