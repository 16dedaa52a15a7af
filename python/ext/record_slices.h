// The slices of asyncio's tasks: a loop runs each by contextvars.Context.run(), where a task is
// entered and left in C, without a function of Python's between. And the switches of greenlets.
// What both cost is measured, and marked in the recording.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace crosscut::python {

// follow_slices(descriptor, code): what `descriptor` (that of Context.run) runs for a frame of that
// code is, from now on, a slice of the task that the callback is bound to. None: nothing is any
// more. The descriptor stays what it is. False where it is another kind of object.
PyObject* FollowSlices(PyObject* module, PyObject* args);

// greenlet_trace(theirs, module): what greenlet.settrace() takes to follow a thread's greenlets;
// `theirs`, another such function or None, goes on being called. It says that it is `module`'s.
PyObject* GreenletTrace(PyObject* self, PyObject* args);

}  // namespace crosscut::python
