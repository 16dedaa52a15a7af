// Operations as Python sees them: the type `operation`, and what is open on each thread
// (record_stack.h). All functions need the GIL unless they say otherwise.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

#include "crosscut/ref.h"
#include "python/ext/record_shared.h"
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

// set_decorator(decorator): what `operation(...)(function)` returns is made by this callable
// (operation, function).
PyObject* SetDecorator(PyObject* module, PyObject* decorator);

// `object` as an exact str: str(object) of what is none, and "(unnamed)" where that fails, since a
// mark must never raise for a value. Null with an exception only for one that is no Exception
// (KeyboardInterrupt), and without memory.
Ref AsText(PyObject* object);

// Its UTF-8 as a bytes object: surrogates, which do not encode, and NULs, which would end it, read
// "?". Null as above.
Ref AsUtf8(PyObject* object);

// The id of what AsText() says as a name of the given kind, layer and flags (CROSSCUT_FOUND or
// none); 0 with an exception as above.
uint32_t NameId(PyObject* text, int kind, int layer, unsigned flags = 0);

// Ids of names of one kind and of no layer, by their text: each is made once.
class NameIds {
 public:
  explicit NameIds(int kind, unsigned flags = 0) : kind_(kind), flags_(flags) {}
  // Before the first name. False with an exception.
  bool Make() { return ids_.Make(); }
  // Of what AsText() says of `name`; 0 where there is no room, and with an exception as NameId().
  uint32_t Of(PyObject* name);

 private:
  const int kind_;
  const unsigned flags_;
  SharedDict ids_;
};

// The probe kind "operation".
uint32_t OperationProbe();

}  // namespace crosscut::python
