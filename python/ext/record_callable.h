// Functions that are made for one place, with something of their own. They are called from C, and
// are no frame.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "crosscut/ref.h"

namespace crosscut::python {

// A reference in the state of such functions, which no collector looks into: to nothing that may
// refer to them.
struct Held {
  explicit Held(PyObject* to) : kept(Ref::Borrow(to)), object(to) {}
  const Ref kept;
  PyObject* const object;
};

// The argument at that place, or of that name (a str); null: none. Borrowed. `args` and so on are
// those of a function with METH_FASTCALL | METH_KEYWORDS.
inline PyObject* Argument(PyObject* const* args, Py_ssize_t count, PyObject* keywords,
                          Py_ssize_t place, PyObject* name) {
  if (count > place) return args[place];
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t i = 0; i < named; ++i) {
    if (PyUnicode_Compare(PyTuple_GET_ITEM(keywords, i), name) == 0) return args[count + i];
  }
  return nullptr;
}

// What a function that Callable() made is called with first.
template <class State>
State* StateOf(PyObject* capsule) {
  return static_cast<State*>(PyCapsule_GetPointer(capsule, nullptr));
}

// Takes over `state` (null: without memory), which is deleted with the capsule. Null with an
// exception.
template <class State>
Ref Capsule(State* state) {
  if (state == nullptr) return Ref(PyErr_NoMemory());
  Ref capsule(PyCapsule_New(state, nullptr, [](PyObject* capsule_) {
    delete static_cast<State*>(PyCapsule_GetPointer(capsule_, nullptr));
  }));
  if (!capsule) delete state;
  return capsule;
}

// A function with that state, which it takes over as Capsule() does. Null with an exception.
template <class State>
PyObject* Callable(State* state, PyMethodDef* definition) {
  const Ref capsule = Capsule(state);
  return capsule ? PyCFunction_New(definition, capsule.get()) : nullptr;
}

// A tuple of functions that share a state.
template <class State, Py_ssize_t kCount>
PyObject* Callables(State* state, PyMethodDef (&definitions)[kCount]) {
  const Ref capsule = Capsule(state);
  Ref made(capsule ? PyTuple_New(kCount) : nullptr);
  for (Py_ssize_t i = 0; made && i < kCount; ++i) {
    PyObject* one = PyCFunction_New(&definitions[i], capsule.get());
    if (one == nullptr) return nullptr;
    PyTuple_SET_ITEM(made.get(), i, one);
  }
  return made.release();
}

}  // namespace crosscut::python
