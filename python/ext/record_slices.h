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

// follow_greenlets(settrace, gettrace), greenlet's functions: from now on the greenlets of this
// thread are followed, and of each other one that begins operations. What the program sets there
// goes on being called, and it sees nothing else there. None twice: no further threads are. False
// where they are others'.
PyObject* FollowGreenlets(PyObject* module, PyObject* args);

}  // namespace crosscut::python
