// Operations as Python sees them: the type `operation`, and what is open on each thread
// (record_stack.h). All functions need the GIL unless they say otherwise.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

#include "python/ext/record_stack.h"

namespace crosscut::python {

// Readies the type and adds it to `module` as "operation". -1 with an exception on failure.
int AddOperationType(PyObject* module);

// For adapters: a span of that name and layer which is opened and closed as an operation is; a new
// reference, or null with an exception where `name` is no str.
PyObject* MakeSpan(PyObject* name, int layer);

// For adapters: an operation that they found (CROSSCUT_FOUND).
PyObject* MakeFound(PyObject* name);

// The name id of an operation or of what MakeSpan() made; 0 with an exception for another object.
uint32_t NameIdOf(PyObject* operation);

// What `operation(...)(function)` returns is made by this Python callable (operation, function).
void SetDecorator(PyObject* decorator);

// `object` as an exact str, a new reference: str(object) of what is none, and "(unnamed)" where
// that fails, since a mark must never raise for a value. Null with an exception only for one that
// is no Exception (KeyboardInterrupt), and without memory.
PyObject* AsText(PyObject* object);

// Its UTF-8 as a bytes object, a new reference: surrogates, which do not encode, and NULs, which
// would end it, read "?". Null as above.
PyObject* AsUtf8(PyObject* object);

// The id of what AsText() says as a name of the given kind, layer and flags (CROSSCUT_FOUND or
// none); 0 with an exception as above.
uint32_t NameId(PyObject* text, int kind, int layer, unsigned flags = 0);

// The probe kind "operation".
uint32_t OperationProbe();

}  // namespace crosscut::python
