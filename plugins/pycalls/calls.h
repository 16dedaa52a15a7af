// The hook on every Python function: PyEval_SetProfile up to 3.11, sys.monitoring from 3.12.
//
// It takes only what is free: a thread whose profile function belongs to another party keeps it,
// and of the monitoring tool ids only those without a purpose of their own (3, 4) are used, so that
// cProfile, coverage and debuggers work beside it. Under the GIL.
#pragma once

#include <string>

#include "python.h"

namespace crosscut::pycalls {

// Puts the hook in, on all threads that live and all that come. False where another owner kept
// everything; `owners` then, and where only some threads are another's, names who.
bool HookCalls(std::string* owners);
// Takes out what HookCalls put in and nothing else.
void UnhookCalls();
// Gives back what stays claimed between the two (the tool id).
void ReleaseCalls();

// Calls `function` (Python) with it and what it calls, `code`, hooked, on this thread; for
// calibration while the hook is out. False where that cannot be done.
bool CallHooked(PyObject* function, PyObject* argument, PyCodeObject* code);

}  // namespace crosscut::pycalls
