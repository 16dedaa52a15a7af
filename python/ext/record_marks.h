// What adapters mark by key and value: arrows between processes, arguments of spans, and what a
// thread does outside of all spans.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace crosscut::python {

// flow_out(key, part=0), flow_in(key, part=0): an arrow leaves, or arrives at, the innermost open
// span. Both ends name it by the same bytes and part, in whatever process they are. Part 0 is a
// call's arrow, part 1 with the same key that of its result.
PyObject* FlowOutFunction(PyObject*, PyObject* const* args, Py_ssize_t count);
PyObject* FlowInFunction(PyObject*, PyObject* const* args, Py_ssize_t count);

// arg(key, value): of the span that was last begun on this thread; an int as a number, everything
// else as text.
PyObject* ArgFunction(PyObject*, PyObject* const* args, Py_ssize_t count);

// base(layer): the layer of this thread outside of every span, from now on.
PyObject* BaseFunction(PyObject*, PyObject* layer);

}  // namespace crosscut::python
