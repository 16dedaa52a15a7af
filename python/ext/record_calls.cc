#include "python/ext/record_calls.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "python/ext/record_callable.h"
#include "python/ext/record_shared.h"
#include "python/ext/record_steps.h"

namespace crosscut::python {
namespace {

PyObject* New(PyObject* object) {
  Py_INCREF(object);
  return object;
}

bool Failed(PyObject* const* args, Py_ssize_t count) { return count > 2 && args[2] == Py_True; }

// ---- Updates, until the outermost call that they are made in ends ----

struct OpenCall {
  size_t updaters;  // that were not told of before it
  bool named;       // it is an operation
};
// Of this thread. One that ends in a call keeps what it holds: nobody can give it back then.
thread_local std::vector<OpenCall> open_calls;
thread_local std::vector<PyObject*> updaters;     // whose updates are not told of yet, each once
thread_local std::vector<PyObject*> open_graphs;  // what each updates

// A thread that makes a replica's part of an update: the others' parts are the same update.
struct Replica {
  PyObject* group;  // what it is a replica of; null: this thread is none
  bool first;
};
thread_local Replica replica = {};

struct OfReplica {
  PyObject* group;  // borrowed: only compared
  PyObject* updater;
};
StateMutex replicas_mutex;
std::vector<OfReplica> of_replicas;  // until the call that runs them ends

// `updater` has made an update, in no call that is open. None as a new reference; null with an
// exception.
PyObject* Tell(PyObject* updater) {
  if (replica.group == nullptr) return FoundUpdate(updater);
  if (replica.first) {
    const std::lock_guard lock(replicas_mutex);
    of_replicas.push_back({replica.group, New(updater)});
  }
  Py_RETURN_NONE;
}

// `updater` has made an update. As Tell().
PyObject* Note(PyObject* updater) {
  if (open_calls.empty()) return Tell(updater);
  if (std::find(updaters.begin(), updaters.end(), updater) == updaters.end()) {
    updaters.push_back(New(updater));
  }
  Py_RETURN_NONE;
}

// Tells of each, and takes them out. As Tell().
PyObject* Each(std::vector<PyObject*>* all, PyObject* (*tell)(PyObject*)) {
  PyObject* result = New(Py_None);
  while (!all->empty()) {
    PyObject* const updater = all->front();
    all->erase(all->begin());
    if (result != nullptr) Py_DECREF(std::exchange(result, tell(updater)));
    Py_DECREF(updater);
  }
  return result;
}

void Begin(bool named) { open_calls.push_back({updaters.size(), named}); }

bool IsNamed() {
  return std::any_of(open_calls.begin(), open_calls.end(),
                     [](const OpenCall& call) { return call.named; });
}

// The innermost call is over. As Tell().
PyObject* End() {
  if (!open_calls.empty()) open_calls.pop_back();
  if (!open_calls.empty()) Py_RETURN_NONE;
  return Each(&updaters, Tell);
}

// ---- What is known of functions and graphs, in all windows of the process ----

ByIdentity called;  // functions: None
ByIdentity graphs;  // a tuple of weak references to what each updates

bool IsKnown(PyObject* function) {
  PyObject* known = called.Get(function);
  Py_XDECREF(known);
  return known != nullptr;
}

// Whether it was called before we were there.
bool WasCalled(PyObject* function) {
  static PyObject* const traced = PyUnicode_InternFromString("_variable_creation_config");
  PyObject* config = PyObject_GetAttr(function, traced);
  if (config == nullptr) PyErr_Clear();
  Py_XDECREF(config);
  return config != nullptr && config != Py_None;
}

// ---- Functions and graphs of one framework ----

struct Functions {
  Held compile, update, apply;  // operations
  Held context;                 // a module of TensorFlow's, or None
  Held updated_by, traced;      // asked of a graph; told of an update that goes into one
  const int32_t* on;
  bool IsOn() const { return __atomic_load_n(on, __ATOMIC_RELAXED) != 0; }
};

// Whether this thread executes at once what it calls, and puts it into no graph. Read where the
// module's own function does, which would be a frame.
bool IsEager(PyObject* context) {
  if (context == Py_None) return true;
  static PyObject* const path[] = {PyUnicode_InternFromString("_context"),
                                   PyUnicode_InternFromString("_thread_local_data"),
                                   PyUnicode_InternFromString("is_eager")};
  PyObject* at = New(context);
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

PyObject* Eager(PyObject* capsule, PyObject* const*, Py_ssize_t, PyObject*) {
  if (!IsEager(StateOf<Functions>(capsule)->context.object)) Py_RETURN_NONE;
  Py_RETURN_TRUE;
}

// Whether a call updates something is known where it executes a graph: behind the first call, which
// makes one, the graph tells of all, as it does in control steps.
PyObject* CallBegins(PyObject* capsule, PyObject* const* args, Py_ssize_t count, PyObject*) {
  const auto* self = StateOf<Functions>(capsule);
  if (!self->IsOn() || count == 0 || IsKnown(args[0])) Py_RETURN_NONE;
  if (!IsEager(self->context.object)) Py_RETURN_NONE;
  PyObject* name = IsNamed() || WasCalled(args[0]) ? Py_True : self->compile.object;
  Begin(name != Py_True);
  return New(name);
}

PyObject* CallEnds(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count > 0 && !Failed(args, count)) called.Set(args[0], Py_None);
  return End();
}

// Asks what the graph updates: a tuple; null with an exception.
PyObject* UpdatedBy(const Functions* self, PyObject* graph) {
  PyObject* by = PyObject_CallOneArg(self->updated_by.object, graph);
  if (by != nullptr && !PyTuple_Check(by)) {
    PyErr_SetString(PyExc_TypeError, "what updates is no tuple");
    Py_CLEAR(by);
  }
  if (by != nullptr) graphs.Set(graph, by);
  return by;
}

PyObject* GraphBegins(PyObject* capsule, PyObject* const* args, Py_ssize_t count, PyObject*) {
  const auto* self = StateOf<Functions>(capsule);
  if (count == 0) Py_RETURN_NONE;
  PyObject* by = graphs.Get(args[0]);
  const bool none = by != nullptr && PyTuple_GET_SIZE(by) == 0;
  if (none || !IsEager(self->context.object)) {
    Py_XDECREF(by);
    Py_RETURN_NONE;
  }
  if (by == nullptr) by = UpdatedBy(self, args[0]);
  if (by == nullptr) return nullptr;
  if (PyTuple_GET_SIZE(by) == 0) {
    Py_DECREF(by);
    Py_RETURN_NONE;
  }
  open_graphs.push_back(by);
  return New(IsNamed() ? Py_True : self->update.object);
}

PyObject* GraphEnds(PyObject*, PyObject* const* args, Py_ssize_t count) {
  PyObject* result = New(Py_None);
  if (open_graphs.empty()) return result;
  PyObject* by = open_graphs.back();
  open_graphs.pop_back();
  const bool ran = count > 0 && !Failed(args, count);
  for (Py_ssize_t i = 0; ran && result != nullptr && i < PyTuple_GET_SIZE(by); ++i) {
    PyObject* updater = Referent(PyTuple_GET_ITEM(by, i));
    Py_DECREF(std::exchange(result, Note(updater == nullptr ? args[0] : updater)));
    Py_XDECREF(updater);
  }
  Py_DECREF(by);
  return result;
}

PyObject* UpdateBegins(PyObject* capsule, PyObject* const* args, Py_ssize_t count, PyObject*) {
  const auto* self = StateOf<Functions>(capsule);
  if (count == 0) Py_RETURN_NONE;
  if (IsEager(self->context.object)) return New(self->apply.object);
  PyObject* told = PyObject_CallOneArg(self->traced.object, args[0]);
  if (told == nullptr) return nullptr;
  Py_DECREF(told);
  Py_RETURN_NONE;
}

PyObject* UpdateEnds(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count == 0 || Failed(args, count)) Py_RETURN_NONE;
  return Note(args[0]);
}

// -- Replicas, which are run by threads of their own --

PyObject* ReplicasBegin(PyObject*, PyObject* const*, Py_ssize_t, PyObject*) {
  Begin(/*named=*/false);
  Py_RETURN_TRUE;
}

PyObject* ReplicasEnd(PyObject*, PyObject* const* args, Py_ssize_t count) {
  std::vector<PyObject*> theirs;
  if (count > 0) {
    const std::lock_guard lock(replicas_mutex);
    const auto rest =
        std::stable_partition(of_replicas.begin(), of_replicas.end(),
                              [&](const OfReplica& of) { return of.group != args[0]; });
    for (auto of = rest; of != of_replicas.end(); ++of) theirs.push_back(of->updater);
    of_replicas.erase(rest, of_replicas.end());
  }
  PyObject* noted = Each(&theirs, Note);
  PyObject* told = noted == nullptr ? nullptr : End();
  Py_XDECREF(noted);
  return told;
}

PyObject* ReplicaBegins(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject*) {
  static PyObject *const group = PyUnicode_InternFromString("distribution"),
                         *const number = PyUnicode_InternFromString("replica_id");
  PyObject* of = count == 0 ? nullptr : PyObject_GetAttr(args[0], group);
  PyObject* id = of == nullptr ? nullptr : PyObject_GetAttr(args[0], number);
  if (id != nullptr) replica = {of, PyObject_IsTrue(id) == 0};
  PyErr_Clear();
  Py_XDECREF(of);  // the thread's object has it
  Py_XDECREF(id);
  Py_RETURN_TRUE;
}

PyObject* ReplicaEnds(PyObject*, PyObject* const*, Py_ssize_t) {
  replica = {};
  Py_RETURN_NONE;
}

constexpr int kBefore = METH_FASTCALL | METH_KEYWORDS;
PyMethodDef class_functions[] = {
    {"eager", Function(Eager), kBefore, "..."},
    {"call_begins", Function(CallBegins), kBefore, "function, ..."},
    {"call_ends", Function(CallEnds), METH_FASTCALL, "function, result, failed"},
    {"graph_begins", Function(GraphBegins), kBefore, "graph, ..."},
    {"graph_ends", Function(GraphEnds), METH_FASTCALL, "graph, result, failed"},
    {"update_begins", Function(UpdateBegins), kBefore, "optimizer, ..."},
    {"update_ends", Function(UpdateEnds), METH_FASTCALL, "optimizer, result, failed"},
    {"replicas_begin", Function(ReplicasBegin), kBefore, "distribution, ..."},
    {"replicas_end", Function(ReplicasEnd), METH_FASTCALL, "distribution, result, failed"},
    {"replica_begins", Function(ReplicaBegins), kBefore, "thread"},
    {"replica_ends", Function(ReplicaEnds), METH_FASTCALL, "thread, result, failed"}};

PyObject* MakeFunctions(PyObject*, PyObject* args) {
  PyObject *compile, *update, *apply, *context, *updated_by, *traced;
  unsigned long long on;
  if (!PyArg_ParseTuple(args, "OOOOKOO:compiled_functions", &compile, &update, &apply, &context,
                        &on, &updated_by, &traced)) {
    return nullptr;
  }
  return Callables(
      new (std::nothrow)
          Functions{Held(compile), Held(update), Held(apply), Held(context), Held(updated_by),
                    Held(traced), reinterpret_cast<const int32_t*>(static_cast<uintptr_t>(on))},
      class_functions);
}

// ---- One function ----

struct OneFunction {
  Held compile, later;  // operations
  Held updater;         // a weak reference, or None
  std::atomic<bool> compiled;
};

PyObject* OneBegins(PyObject* capsule, PyObject* const*, Py_ssize_t, PyObject*) {
  auto* self = StateOf<OneFunction>(capsule);
  Begin(/*named=*/true);
  return New(self->compiled.exchange(true) ? self->later.object : self->compile.object);
}

// What is updated in it, and how, is its updater's matter.
PyObject* OneEnds(PyObject* capsule, PyObject* const* args, Py_ssize_t count) {
  const auto* self = StateOf<OneFunction>(capsule);
  PyObject* updater = self->updater.object == Py_None ? nullptr : Referent(self->updater.object);
  if (updater != nullptr && !open_calls.empty()) {
    while (updaters.size() > open_calls.back().updaters) {
      Py_DECREF(updaters.back());
      updaters.pop_back();
    }
    if (!Failed(args, count)) Py_XDECREF(Note(updater));
  }
  Py_XDECREF(updater);
  return End();
}

PyMethodDef one_functions[] = {
    {"call_begins", Function(OneBegins), kBefore, "..."},
    {"call_ends", Function(OneEnds), METH_FASTCALL, "first argument, result, failed"}};

PyObject* MakeOne(PyObject*, PyObject* args) {
  PyObject *compile, *later, *updater;
  int compiled = 0;
  if (!PyArg_ParseTuple(args, "OOOp:compiled_function", &compile, &later, &updater, &compiled)) {
    return nullptr;
  }
  PyObject* weak = updater == Py_None ? New(Py_None) : PyWeakref_NewRef(updater, nullptr);
  if (weak == nullptr) return nullptr;
  PyObject* made = Callables(new (std::nothrow)
                                 OneFunction{Held(compile), Held(later), Held(weak), compiled != 0},
                             one_functions);
  Py_DECREF(weak);
  return made;
}

PyMethodDef functions[] = {
    {"compiled_functions", MakeFunctions, METH_VARARGS,
     "compile, update, apply, context, on, updated_by, traced: operations; TensorFlow's module\n"
     "that says whether this thread executes eagerly (None: it does); the address of an int32 "
     "that\n"
     "is not 0 while operations are recorded; what gives for a graph a tuple of weak references "
     "to\n"
     "what it updates; and what is told of an optimizer whose update goes into a graph. Functions\n"
     "to be told before and after the call of a function, of the graph of one, of an optimizer's\n"
     "update, of replicas and of one of them, all of which is their first argument; and `eager`,\n"
     "for what is an operation only where it is no part of a graph. A step ends where the\n"
     "outermost call ends that something was updated in."},
    {"compiled_function", MakeOne, METH_VARARGS,
     "compile, later, updater, compiled: two functions, before and after the call of a function,\n"
     "which is `compile` the first time, unless it was `compiled` already, and `later` later. "
     "Each\n"
     "call is an update by `updater`, if that is not None."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int AddCallFunctions(PyObject* module) { return PyModule_AddFunctions(module, functions); }

void ForgetCalls() {
  replicas_mutex.ForgetHolder();
  open_calls.clear();
  updaters.clear();  // their references stay: nothing of Python's is called here
  open_graphs.clear();
  of_replicas.clear();
  replica = {};
}

}  // namespace crosscut::python
