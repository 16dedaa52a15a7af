// Functions of Python's whose calls go through something of ours, while they stay what they are:
// the same object of the same type, with the same code, in the same places.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace crosscut::python {

// Has calls of `function` go to `to`, a callable, which the function keeps: so `to` must not keep
// the function. Returns what they went to before, a new reference: an object that calls the
// function as it is, or the `to` of an earlier time. Null without an exception where such an object
// cannot be led, or with one. All under the GIL.
PyObject* LeadFunction(PyObject* function, PyObject* to);

// What calls of `function` go to, a borrowed reference; null where they go nowhere else.
PyObject* LedTo(PyObject* function);

// Calls of `function` are just that again. Those that have begun end as they would.
void UnleadFunction(PyObject* function);

// code_of_functions(): the address of what answers as PyFunction_GetCode() does, for C that looks
// into functions; 0 where a function that is led keeps its code.
PyObject* CodeOfFunctions(PyObject* module, PyObject*);

// Readies the types. -1 with an exception on failure.
int AddFunctionTypes();

}  // namespace crosscut::python
