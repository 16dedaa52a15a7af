// What stands around other people's functions: the type `around`, which adds no frame.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace crosscut::python {

// Readies the type and adds it to `module` as "around". -1 with an exception on failure.
int AddAroundType(PyObject* module);

// lead_calls(around): calls of the function that it is around, or that the arounds in it are, go
// through it from now on, wherever that function is kept; the function stays what it is. False
// where it is none of Python's. What leads later is called first.
PyObject* LeadCalls(PyObject* module, PyObject* around);

// unlead_calls(around): they go through it no more.
PyObject* UnleadCalls(PyObject* module, PyObject* around);

// divert(descriptor, around): calls of a method descriptor that takes a tuple and keywords go
// through `around` (whose `before` gets the object alone), however it is called; one descriptor at
// a time, None ends it. The descriptor stays what it is, and profilers go on seeing calls of it.
// False where it is another kind of object. Its function's own table is left alone: the boundary
// may stand there.
PyObject* Divert(PyObject* module, PyObject* args);

// In the child, on the thread that forked: it is in no call that it was forked in.
void ForgetOutermost();

}  // namespace crosscut::python
