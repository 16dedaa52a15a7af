#include "python/ext/record_calls.h"

#include <atomic>
#include <new>

#include "python/ext/record_callable.h"
#include "python/ext/record_shared.h"
#include "python/ext/record_steps.h"

namespace crosscut::python {
namespace {

PyObject* New(const Held& held) {
  Py_INCREF(held.object);
  return held.object;
}

bool Failed(PyObject* const* args, Py_ssize_t count) { return count > 2 && args[2] == Py_True; }

// ---- What is known of functions, in all windows of the process ----

enum Kind : long { kNew, kOther, kUpdates };  // the latter two once they are compiled

constexpr Py_ssize_t kSweepAt = 4096;
SharedDict known;  // weak reference to a function -> its Kind

Kind KindOf(PyObject* function) {
  // The dictionary's own, where it has one: nothing is compared.
  PyObject* key = PyWeakref_NewRef(function, nullptr);
  PyObject* kind = key == nullptr ? nullptr : known.Get(key);
  Py_XDECREF(key);
  const long number = kind == nullptr ? kNew : PyLong_AsLong(kind);
  Py_XDECREF(kind);
  if (kind == nullptr) PyErr_Clear();
  return static_cast<Kind>(number);
}

void Sweep() {
  PyObject* keys = known.Keys();
  for (Py_ssize_t i = 0; keys != nullptr && i < PyList_GET_SIZE(keys); ++i) {
    PyObject* function = Referent(PyList_GET_ITEM(keys, i));
    if (function == nullptr) known.Remove(PyList_GET_ITEM(keys, i));
    Py_XDECREF(function);
  }
  Py_XDECREF(keys);
}

void Know(PyObject* function, Kind kind) {
  if (known.size() >= kSweepAt) Sweep();
  PyObject *key = PyWeakref_NewRef(function, nullptr), *number = PyLong_FromLong(kind);
  if (key != nullptr && number != nullptr) known.Set(key, number);
  PyErr_Clear();
  Py_XDECREF(key);
  Py_XDECREF(number);
}

// ---- Functions of one class ----

SharedRef called;  // the outermost that is called now, on whichever thread

struct Functions {
  Held compile, update, apply;  // operations
  Held context;                 // a module of TensorFlow's, or None
};

// Whether this thread executes at once what it calls, and puts it into no graph. Read where the
// module's own function does, which would be a frame.
bool IsEager(PyObject* context) {
  if (context == Py_None) return true;
  static PyObject* const path[] = {PyUnicode_InternFromString("_context"),
                                   PyUnicode_InternFromString("_thread_local_data"),
                                   PyUnicode_InternFromString("is_eager")};
  Py_INCREF(context);
  PyObject* at = context;
  for (PyObject* name : path) {
    PyObject* next = at == nullptr ? nullptr : PyObject_GetAttr(at, name);
    Py_XDECREF(at);
    at = next;
  }
  if (at == nullptr) {  // before there is a context, or in another version
    PyErr_Clear();
    at = PyObject_CallMethod(context, "executing_eagerly", nullptr);
  }
  const bool eager = at == nullptr || PyObject_IsTrue(at) != 0;
  if (at == nullptr) PyErr_Clear();
  Py_XDECREF(at);
  return eager;
}

PyObject* CallBegins(PyObject* capsule, PyObject* const* args, Py_ssize_t count, PyObject*) {
  const auto* self = StateOf<Functions>(capsule);
  const Kind kind = count == 0 ? kOther : KindOf(args[0]);
  if (kind == kOther || !IsEager(self->context.object)) Py_RETURN_NONE;
  Py_INCREF(args[0]);
  called.Set(args[0]);
  return New(kind == kUpdates ? self->update : self->compile);
}

PyObject* CallEnds(PyObject*, PyObject* const* args, Py_ssize_t count) {
  called.Set(nullptr);
  if (count == 0 || Failed(args, count)) Py_RETURN_NONE;
  const Kind kind = KindOf(args[0]);
  if (kind == kUpdates) return FoundUpdate(args[0]);
  if (kind == kNew) Know(args[0], kOther);
  Py_RETURN_NONE;
}

// An update goes into a graph: maybe on another thread than the call's.
PyObject* Traced(PyObject* capsule, PyObject* const*, Py_ssize_t, PyObject*) {
  PyObject* function = called.Get();
  if (function == nullptr) Py_RETURN_NONE;
  if (!IsEager(StateOf<Functions>(capsule)->context.object)) Know(function, kUpdates);
  Py_DECREF(function);
  Py_RETURN_NONE;
}

PyObject* Applied(PyObject* capsule, PyObject* const*, Py_ssize_t, PyObject*) {
  const auto* self = StateOf<Functions>(capsule);
  if (!IsEager(self->context.object)) Py_RETURN_NONE;
  return New(self->apply);
}

PyMethodDef class_functions[] = {
    {"call_begins", Function(CallBegins), METH_FASTCALL | METH_KEYWORDS, "function, ..."},
    {"call_ends", Function(CallEnds), METH_FASTCALL, "function, result, failed"},
    {"traced", Function(Traced), METH_FASTCALL | METH_KEYWORDS, "an update begins"},
    {"applied", Function(Applied), METH_FASTCALL | METH_KEYWORDS, "an update begins"}};

PyObject* MakeFunctions(PyObject*, PyObject* args) {
  PyObject *compile, *update, *apply, *context;
  if (!PyArg_ParseTuple(args, "OOOO:compiled_functions", &compile, &update, &apply, &context)) {
    return nullptr;
  }
  return Callables(new (std::nothrow)
                       Functions{Held(compile), Held(update), Held(apply), Held(context)},
                   class_functions);
}

// ---- One function ----

struct OneFunction {
  Held compile, later;  // operations
  Held function;        // a weak reference
  Held updater;         // a weak reference, or None
  std::atomic<bool> compiled;
};

PyObject* OneBegins(PyObject* capsule, PyObject* const*, Py_ssize_t, PyObject*) {
  auto* self = StateOf<OneFunction>(capsule);
  if (self->compiled.exchange(true)) return New(self->later);
  if (PyObject* function = Referent(self->function.object)) {
    Know(function, kOther);
    Py_DECREF(function);
  }
  return New(self->compile);
}

PyObject* OneEnds(PyObject* capsule, PyObject* const* args, Py_ssize_t count) {
  const auto* self = StateOf<OneFunction>(capsule);
  if (self->updater.object == Py_None || Failed(args, count)) Py_RETURN_NONE;
  PyObject* updater = Referent(self->updater.object);
  if (updater == nullptr) Py_RETURN_NONE;
  PyObject* result = FoundUpdate(updater);
  Py_DECREF(updater);
  return result;
}

PyMethodDef one_functions[] = {
    {"call_begins", Function(OneBegins), METH_FASTCALL | METH_KEYWORDS, "..."},
    {"call_ends", Function(OneEnds), METH_FASTCALL, "first argument, result, failed"}};

PyObject* MakeOne(PyObject*, PyObject* args) {
  PyObject *compile, *later, *function, *updater;
  if (!PyArg_ParseTuple(args, "OOOO:compiled_function", &compile, &later, &function, &updater)) {
    return nullptr;
  }
  PyObject* weak = PyWeakref_NewRef(function, nullptr);
  PyObject* weak_updater = updater == Py_None ? nullptr : PyWeakref_NewRef(updater, nullptr);
  PyObject* made = nullptr;
  if (weak != nullptr && !PyErr_Occurred()) {
    made = Callables(new (std::nothrow)
                         OneFunction{Held(compile), Held(later), Held(weak),
                                     Held(weak_updater != nullptr ? weak_updater : Py_None),
                                     KindOf(function) != kNew},
                     one_functions);
  }
  Py_XDECREF(weak);
  Py_XDECREF(weak_updater);
  return made;
}

PyMethodDef functions[] = {
    {"compiled_functions", MakeFunctions, METH_VARARGS,
     "compile, update, apply, context: operations, and TensorFlow's module that says whether this\n"
     "thread executes eagerly (None: it does). Four functions: before and after the call of a\n"
     "function that is its first argument (it is `compile` the first time, and later `update` if\n"
     "one was traced then, or nothing), before an update wherever it is, and before an outermost\n"
     "one, which is `apply` where it is eager."},
    {"compiled_function", MakeOne, METH_VARARGS,
     "compile, later, function, updater: two functions, before and after the call of `function`,\n"
     "which is `compile` the first time and `later` later. `updater`, if not None, has what it\n"
     "updates."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int AddCallFunctions(PyObject* module) {
  return known.Make() ? PyModule_AddFunctions(module, functions) : -1;
}

}  // namespace crosscut::python
