#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "python/ext/record_callable.h"
#include "python/ext/record_module.h"
#include "python/ext/record_shared.h"
#include "python/ext/record_steps.h"

namespace crosscut::python {
namespace {

PyObject* New(PyObject* object) { return Ref::Borrow(object).release(); }

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
  Ref result = Ref::None();
  while (!all->empty()) {
    const Ref updater(all->front());
    all->erase(all->begin());
    if (result) result = Ref(tell(updater.get()));
  }
  return result.release();
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

// Whether it was called before we were there.
bool WasCalled(PyObject* function) {
  static PyObject* const traced = PyUnicode_InternFromString("_variable_creation_config");
  const Ref config(PyObject_GetAttr(function, traced));
  if (!config) PyErr_Clear();
  return config && config.get() != Py_None;
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
  Ref at = Ref::Borrow(context);
  for (PyObject* name : path) {
    if (at) at = Ref(PyObject_GetAttr(at.get(), name));
  }
  if (!at) {  // before there is a context, or in another version
    PyErr_Clear();
    at = Ref(PyObject_CallMethod(context, "executing_eagerly", nullptr));
  }
  if (!at) PyErr_Clear();
  return !at || PyObject_IsTrue(at.get()) != 0;
}

PyObject* Eager(PyObject* capsule, PyObject* const*, Py_ssize_t, PyObject*) {
  if (!IsEager(StateOf<Functions>(capsule)->context.object)) Py_RETURN_NONE;
  Py_RETURN_TRUE;
}

// Whether a call updates something is known where it executes a graph: behind the first call, which
// makes one, the graph tells of all, as it does in control steps.
PyObject* CallBegins(PyObject* capsule, PyObject* const* args, Py_ssize_t count, PyObject*) {
  const auto* self = StateOf<Functions>(capsule);
  if (!self->IsOn() || count == 0 || called.Get(args[0])) Py_RETURN_NONE;
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
Ref UpdatedBy(const Functions* self, PyObject* graph) {
  Ref by(PyObject_CallOneArg(self->updated_by.object, graph));
  if (by && !PyTuple_Check(by.get())) {
    PyErr_SetString(PyExc_TypeError, "what updates is no tuple");
    return Ref();
  }
  if (by) graphs.Set(graph, by.get());
  return by;
}

PyObject* GraphBegins(PyObject* capsule, PyObject* const* args, Py_ssize_t count, PyObject*) {
  const auto* self = StateOf<Functions>(capsule);
  if (count == 0) Py_RETURN_NONE;
  Ref by = graphs.Get(args[0]);
  const bool none = by && PyTuple_GET_SIZE(by.get()) == 0;
  if (none || !IsEager(self->context.object)) Py_RETURN_NONE;
  if (!by) by = UpdatedBy(self, args[0]);
  if (!by) return nullptr;
  if (PyTuple_GET_SIZE(by.get()) == 0) Py_RETURN_NONE;
  open_graphs.push_back(by.release());
  return New(IsNamed() ? Py_True : self->update.object);
}

PyObject* GraphEnds(PyObject*, PyObject* const* args, Py_ssize_t count) {
  Ref result = Ref::None();
  if (open_graphs.empty()) return result.release();
  const Ref by(open_graphs.back());
  open_graphs.pop_back();
  const bool ran = count > 0 && !Failed(args, count);
  for (Py_ssize_t i = 0; ran && result && i < PyTuple_GET_SIZE(by.get()); ++i) {
    const Ref updater = Referent(PyTuple_GET_ITEM(by.get(), i));
    result = Ref(Note(updater ? updater.get() : args[0]));
  }
  return result.release();
}

PyObject* UpdateBegins(PyObject* capsule, PyObject* const* args, Py_ssize_t count, PyObject*) {
  const auto* self = StateOf<Functions>(capsule);
  if (count == 0) Py_RETURN_NONE;
  if (IsEager(self->context.object)) return New(self->apply.object);
  if (!Ref(PyObject_CallOneArg(self->traced.object, args[0]))) return nullptr;
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
  return Ref(Each(&theirs, Note)) ? End() : nullptr;
}

PyObject* ReplicaBegins(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject*) {
  static PyObject *const group = PyUnicode_InternFromString("distribution"),
                         *const number = PyUnicode_InternFromString("replica_id");
  const Ref of(count == 0 ? nullptr : PyObject_GetAttr(args[0], group));  // the object has it
  const Ref id(of ? PyObject_GetAttr(args[0], number) : nullptr);
  if (id) replica = {of.get(), PyObject_IsTrue(id.get()) == 0};
  PyErr_Clear();
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
  const Ref updater = self->updater.object == Py_None ? Ref() : Referent(self->updater.object);
  if (updater && !open_calls.empty()) {
    while (updaters.size() > open_calls.back().updaters) {
      const Ref other(updaters.back());
      updaters.pop_back();
    }
    if (!Failed(args, count)) const Ref noted(Note(updater.get()));
  }
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
  const Ref weak(updater == Py_None ? New(Py_None) : PyWeakref_NewRef(updater, nullptr));
  if (!weak) return nullptr;
  return Callables(new (std::nothrow)
                       OneFunction{Held(compile), Held(later), Held(weak.get()), compiled != 0},
                   one_functions);
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
