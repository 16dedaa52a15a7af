// Builtin functions that no thunk records: what Python functions' spans lack of their calls.
#pragma once

#include <cstdint>

#include "python.h"

namespace crosscut::pycalls {

// Whether it is a function or method of C that has a name of its own: what CPython's profilers
// tell of. Cheap.
inline bool IsBuiltin(PyObject* callable) {
  return PyCFunction_Check(callable) || Py_IS_TYPE(callable, &PyMethodDescr_Type);
}

// The name of one as a span, "len", "dict.get", "time.sleep"; 0: a thunk records it, it is ours, or
// it goes on in another stack than it was called in. Under the GIL; the pending exception stays.
uint32_t NameBuiltin(PyObject* builtin);

}  // namespace crosscut::pycalls
