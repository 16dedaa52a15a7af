// Functions that are made for one place, with something of their own. They are called from C, and
// are no frame.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace crosscut::python {

// A reference in the state of such functions, which no collector looks into: to nothing that may
// refer to them.
struct Held {
  explicit Held(PyObject* to) : object(to) { Py_INCREF(to); }
  ~Held() { Py_DECREF(object); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  PyObject* const object;
};

// What a function that Callable() made is called with first.
template <class State>
State* StateOf(PyObject* capsule) {
  return static_cast<State*>(PyCapsule_GetPointer(capsule, nullptr));
}

// Takes over `state` (null: without memory), which is deleted with the capsule. Null with an
// exception.
template <class State>
PyObject* Capsule(State* state) {
  if (state == nullptr) return PyErr_NoMemory();
  PyObject* capsule = PyCapsule_New(state, nullptr, [](PyObject* capsule_) {
    delete static_cast<State*>(PyCapsule_GetPointer(capsule_, nullptr));
  });
  if (capsule == nullptr) delete state;
  return capsule;
}

// A function with that state, which it takes over as Capsule() does. Null with an exception.
template <class State>
PyObject* Callable(State* state, PyMethodDef* definition) {
  PyObject* capsule = Capsule(state);
  PyObject* callable = capsule == nullptr ? nullptr : PyCFunction_New(definition, capsule);
  Py_XDECREF(capsule);
  return callable;
}

// A tuple of functions that share a state.
template <class State, Py_ssize_t kCount>
PyObject* Callables(State* state, PyMethodDef (&definitions)[kCount]) {
  PyObject* capsule = Capsule(state);
  PyObject* made = capsule == nullptr ? nullptr : PyTuple_New(kCount);
  for (Py_ssize_t i = 0; made != nullptr && i < kCount; ++i) {
    PyObject* one = PyCFunction_New(&definitions[i], capsule);
    if (one == nullptr) {
      Py_CLEAR(made);
    } else {
      PyTuple_SET_ITEM(made, i, one);
    }
  }
  Py_XDECREF(capsule);
  return made;
}

}  // namespace crosscut::python
