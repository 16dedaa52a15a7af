#include "python/ext/record_steps.h"

#include <stddef.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "crosscut/crosscut.h"
#include "python/ext/record_operation.h"
#include "python/ext/record_shared.h"
#include "python/ext/record_stack.h"
#include "python/ext/record_unseen.h"

namespace crosscut::python {
namespace {

SharedRef step_hook;
std::atomic<bool> program_steps{false};  // the program declares its steps

PyObject* None() { Py_RETURN_NONE; }

// A step waits for no other thread, and giving up a GIL is a wait by itself. Where there is none,
// others may wait for this thread to stop.
template <class Edge>
auto AtStep(Edge edge) {
  if constexpr (kHasGil) {
    return edge();
  } else {
    return Apart(edge);
  }
}

// *number: its number. False with an exception where the program is interrupted in the hook.
bool BeginStep(uint32_t kind, uint64_t* number) {
  ThisThreadRunsPython();
  *number = AtStep([kind] { return crosscut_step(kind); });
  PyObject* hook = step_hook.Get();
  if (hook == nullptr) return true;
  const Unseen unseen;
  PyObject* result =
      OursOrNone(hook, PyObject_CallFunction(hook, "K", static_cast<unsigned long long>(*number)));
  Py_DECREF(hook);
  Py_XDECREF(result);
  return result != nullptr;
}

uint32_t FoundKind(const char* name) {
  return crosscut_intern(name, SIZE_MAX, CROSSCUT_STEP, CROSSCUT_LAYER_NONE,
                         CROSSCUT_NO_LAYER | CROSSCUT_FOUND,
                         crosscut_intern("step", 4, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0));
}

// ---- Steps that are found ----

constexpr uint32_t kLostAfter = 16;  // steps of others, none of the primary: one becomes primary
// Steps of an environment without an update that are a step. One is often too short for that: what
// a processor has learned of the hooks takes it milliseconds to unlearn when they are withdrawn.
constexpr uint32_t kRollout = 8;

struct StepFinder {
  PyObject_HEAD PyObject* primary;  // a weak reference, or null
  PyObject* weak_references;
  uint32_t others;        // steps of others since the primary's last
  std::atomic<int> asks;  // 0 once the program declares its steps itself
  uint64_t next;          // number that our next step should get; 0: any
  unsigned long thread;   // that made the last update
  uint32_t simulated;     // steps of the environment since then
};

SharedRef learner;  // the StepFinder that has found the process's last update

// Calls in one interpreter that has a GIL come one at a time. Without one, updates of two threads
// are one another's: a step is the process's.
StateMutex finders_mutex;

PyObject* Referent(PyObject* reference) {
  PyObject* object = nullptr;
#if PY_VERSION_HEX >= 0x030d0000
  if (reference != nullptr) PyWeakref_GetRef(reference, &object);
#else
  if (reference != nullptr && (object = PyWeakref_GetObject(reference)) == Py_None) {
    object = nullptr;
  }
  Py_XINCREF(object);
#endif
  return object;
}

// Null with an exception, as BeginStep().
PyObject* BeginFound(StepFinder* self, const char* name, std::atomic<uint32_t>* kind) {
  if (program_steps) self->asks = 0;
  if (self->asks == 0) Py_RETURN_NONE;
  if (*kind == 0) *kind = FoundKind(name);
  uint64_t number = 0;
  if (!BeginStep(*kind, &number)) return nullptr;
  if (crosscut_active() == 0) Py_RETURN_NONE;
  const std::lock_guard lock(finders_mutex);
  // Another number: somebody else counts steps, too. 0: the first of another session.
  if (self->next != 0 && number != self->next && number != 0) self->asks = 0;
  self->next = number + 1;
  Py_RETURN_NONE;
}

// A step ends here with an update, and the next begins.
PyObject* Edge(PyObject* object, PyObject* const*, Py_ssize_t) {
  auto* self = reinterpret_cast<StepFinder*>(object);
  Py_INCREF(object);
  learner.Set(object);
  {
    const std::lock_guard lock(finders_mutex);
    self->thread = PyThread_get_thread_ident();
    self->simulated = 0;
  }
  static std::atomic<uint32_t> kind{0};
  return BeginFound(self, "step", &kind);
}

// Whether an update by `updater` is the primary's, as which it may be taken. -1 with an exception.
int IsPrimary(StepFinder* self, PyObject* updater) {
  PyObject* primary = nullptr;
  {
    const std::lock_guard lock(finders_mutex);
    primary = Referent(self->primary);
    self->others = primary == updater ? 0 : self->others + 1;
  }
  const bool same = primary == updater;
  const bool another = !same && primary != nullptr && self->others < kLostAfter;
  Py_XDECREF(primary);
  if (same || another) return same ? 1 : 0;
  PyObject* reference = PyWeakref_NewRef(updater, nullptr);
  if (reference == nullptr) return -1;
  finders_mutex.lock();
  std::swap(self->primary, reference);
  self->others = 0;
  finders_mutex.unlock();
  Py_XDECREF(reference);
  return 1;
}

PyObject* Passed(PyObject* object, PyObject* const* args, Py_ssize_t count) {
  auto* self = reinterpret_cast<StepFinder*>(object);
  if (count == 0) {
    PyErr_SetString(PyExc_TypeError, "passed() needs what has made an update");
    return nullptr;
  }
  if (self->asks == 0 || (count > 2 && args[2] == Py_True)) Py_RETURN_NONE;
  const int is_primary = IsPrimary(self, args[0]);
  if (is_primary < 0) return nullptr;
  if (is_primary == 0) Py_RETURN_NONE;
  return Edge(object, nullptr, 0);
}

PyObject* Declared(PyObject* object, PyObject*) {
  reinterpret_cast<StepFinder*>(object)->asks = 0;
  Py_RETURN_NONE;
}

PyObject* Simulated(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count > 2 && args[2] == Py_True) Py_RETURN_NONE;
  auto* self = reinterpret_cast<StepFinder*>(learner.Get());
  if (self == nullptr) Py_RETURN_NONE;
  bool full = false;
  if (self->thread == PyThread_get_thread_ident()) {
    const std::lock_guard lock(finders_mutex);
    full = ++self->simulated == kRollout;
    if (full) self->simulated = 0;
  }
  static std::atomic<uint32_t> kind{0};
  PyObject* result = full ? BeginFound(self, "rollout step", &kind) : None();
  Py_DECREF(self);
  return result;
}

PyObject* NewFinder(PyTypeObject* type, PyObject*, PyObject*) {
  auto* self = reinterpret_cast<StepFinder*>(type->tp_alloc(type, 0));
  if (self != nullptr) self->asks = 1;
  return reinterpret_cast<PyObject*>(self);
}

void DeallocFinder(PyObject* object) {
  auto* self = reinterpret_cast<StepFinder*>(object);
  if (self->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  Py_XDECREF(self->primary);
  Py_TYPE(object)->tp_free(object);
}

PyMethodDef finder_methods[] = {
    {"passed", Function(Passed), METH_FASTCALL,
     "updater, result, failed: it has made an update, unless it failed."},
    {"edge", Function(Edge), METH_FASTCALL, "A step ends here with an update."},
    {"declared", Declared, METH_NOARGS, "The program says itself where its steps are."},
    {nullptr, nullptr, 0, nullptr}};

const char kFinderDoc[] =
    "Finds the program's steps from what updates its model: an optimizer, a train function.\n\n"
    "An agent may gather experience for long before it learns from it. Such a rollout is no part\n"
    "of the update behind it: every few steps of the environment (simulated()) are a step of a\n"
    "kind of its own.";

PyTypeObject MakeFinderType() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "crosscut._record.StepFinder";
  type.tp_basicsize = sizeof(StepFinder);
  type.tp_dealloc = DeallocFinder;
  type.tp_weaklistoffset = offsetof(StepFinder, weak_references);
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_doc = kFinderDoc;
  type.tp_methods = finder_methods;
  type.tp_new = NewFinder;
  return type;
}
PyTypeObject finder_type = MakeFinderType();

// ---- Functions with something of their own ----

// `function` as a callable that finds `State*` by StateOf(). Takes over `state`, which is deleted
// with the callable; null with an exception.
template <class State>
PyObject* Callable(State* state, PyMethodDef* function) {
  PyObject* capsule = PyCapsule_New(state, nullptr, [](PyObject* capsule_) {
    delete static_cast<State*>(PyCapsule_GetPointer(capsule_, nullptr));
  });
  if (capsule == nullptr) delete state;
  PyObject* callable = capsule == nullptr ? nullptr : PyCFunction_New(function, capsule);
  Py_XDECREF(capsule);
  return callable;
}

template <class State>
State* StateOf(PyObject* capsule) {
  return static_cast<State*>(PyCapsule_GetPointer(capsule, nullptr));
}

// A reference of such a state's.
struct Held {
  explicit Held(PyObject* to) : object(to) { Py_INCREF(to); }
  ~Held() { Py_DECREF(object); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  PyObject* const object;
};

// -- Updates --

// A scope that PyTorch opens around an optimizer's step().
struct OpenUpdate {
  PyObject* scope;      // null: the place is free
  PyObject* optimizer;  // that has made its update, or null
  PyObject* told;       // not ours: what was told last of a scope inside, or null
  int32_t around;       // place + 1 of the scope around it in its task; 0: none
  bool opened;          // as an operation
};
// Of this thread. One that ends in a scope keeps what it holds: nobody can give it back then.
thread_local std::vector<OpenUpdate> open_updates;
thread_local int32_t innermost = 0;  // place + 1, in the task that runs
int32_t* Innermost() { return &innermost; }

// Null: none is open in this task.
OpenUpdate* InnermostUpdate() {
  const auto count = static_cast<int32_t>(open_updates.size());
  if (innermost > count || (innermost > 0 && open_updates[innermost - 1].scope == nullptr)) {
    innermost = 0;  // it was left in another task
  }
  return innermost == 0 ? nullptr : &open_updates[innermost - 1];
}

// Takes the scope's out, wherever it stands. False: there is none.
bool TakeUpdate(PyObject* scope, OpenUpdate* taken) {
  const auto place = std::find_if(open_updates.begin(), open_updates.end(),
                                  [&](const OpenUpdate& one) { return one.scope == scope; });
  if (place == open_updates.end()) return false;
  const auto number = static_cast<int32_t>(place - open_updates.begin()) + 1;
  *taken = *place;
  *place = {};
  if (innermost == number) innermost = taken->around;
  for (OpenUpdate& other : open_updates) {
    if (other.around == number) other.around = taken->around;
  }
  return true;
}

struct Updates {
  uint32_t operation;
  const int32_t* on;
  Held check, passed;
};

PyObject* UpdateBegins(PyObject* capsule, PyObject* const* args, Py_ssize_t count) {
  if (count == 0) Py_RETURN_NONE;
  const auto* self = StateOf<Updates>(capsule);
  const bool on = __atomic_load_n(self->on, __ATOMIC_RELAXED) != 0;
  const int32_t around = InnermostUpdate() == nullptr ? 0 : innermost;
  auto place = std::find_if(open_updates.begin(), open_updates.end(),
                            [](const OpenUpdate& one) { return one.scope == nullptr; });
  if (place == open_updates.end()) place = open_updates.insert(place, OpenUpdate{});
  innermost = static_cast<int32_t>(place - open_updates.begin()) + 1;
  Py_INCREF(args[0]);
  *place = {args[0], nullptr, nullptr, around, on && EnterOperation(self->operation)};
  Py_RETURN_NONE;
}

PyObject* Updated(PyObject*, PyObject* const* args, Py_ssize_t count) {
  OpenUpdate* open = InnermostUpdate();
  if (count > 0 && open != nullptr) {
    Py_INCREF(args[0]);
    Py_XDECREF(std::exchange(open->optimizer, args[0]));
  }
  Py_RETURN_NONE;
}

PyObject* UpdateEnds(PyObject* capsule, PyObject* const* args, Py_ssize_t count) {
  const auto* self = StateOf<Updates>(capsule);
  OpenUpdate ended;
  if (count == 0 || !TakeUpdate(args[0], &ended)) Py_RETURN_NONE;
  if (ended.opened) ExitOperation(self->operation);
  // A step() that calls that of the class above makes one update, in two scopes.
  const bool tells = ended.optimizer != nullptr && ended.optimizer != ended.told;
  if (ended.optimizer != nullptr && ended.around != 0) {
    open_updates[ended.around - 1].told = ended.optimizer;
  }
  PyObject* result = None();
  for (const Held* told : {&self->check, &self->passed}) {
    if (!tells || result == nullptr) break;
    Py_DECREF(result);
    result = PyObject_CallOneArg(told->object, ended.optimizer);
  }
  Py_DECREF(ended.scope);
  Py_XDECREF(ended.optimizer);
  return result;
}

PyMethodDef update_functions[] = {{"update_begins", Function(UpdateBegins), METH_FASTCALL, "scope"},
                                  {"updated", Function(Updated), METH_FASTCALL, "optimizer"},
                                  {"update_ends", Function(UpdateEnds), METH_FASTCALL, "scope"}};

PyObject* MakeUpdates(PyObject*, PyObject* args) {
  PyObject *operation, *check, *passed;
  unsigned long long on;
  if (!PyArg_ParseTuple(args, "OKOO:updates", &operation, &on, &check, &passed)) return nullptr;
  const uint32_t name = NameIdOf(operation);
  if (name == 0) return nullptr;
  PyObject* made = PyTuple_New(3);
  for (Py_ssize_t i = 0; made != nullptr && i < 3; ++i) {
    auto* state = new (std::nothrow)
        Updates{name, reinterpret_cast<const int32_t*>(static_cast<uintptr_t>(on)), Held(check),
                Held(passed)};
    PyObject* one = state == nullptr ? PyErr_NoMemory() : Callable(state, &update_functions[i]);
    if (one == nullptr) Py_CLEAR(made);
    if (made != nullptr) PyTuple_SET_ITEM(made, i, one);
  }
  return made;
}

// -- A slot that others may fill anew --

struct SlotGuard {
  void* const* slot;
  const void* expected;
  Held repair;
};

PyObject* GuardSlot(PyObject* capsule, PyObject* const*, Py_ssize_t) {
  const auto* self = StateOf<SlotGuard>(capsule);
  if (__atomic_load_n(self->slot, __ATOMIC_RELAXED) == self->expected) Py_RETURN_NONE;
  return PyObject_CallNoArgs(self->repair.object);
}

PyMethodDef guard_function = {"guard", Function(GuardSlot), METH_FASTCALL, nullptr};

PyObject* MakeSlotGuard(PyObject*, PyObject* args) {
  unsigned long long slot, expected;
  PyObject* repair;
  if (!PyArg_ParseTuple(args, "KKO:slot_guard", &slot, &expected, &repair)) return nullptr;
  auto* state = new (std::nothrow)
      SlotGuard{reinterpret_cast<void* const*>(static_cast<uintptr_t>(slot)),
                reinterpret_cast<const void*>(static_cast<uintptr_t>(expected)), Held(repair)};
  return state == nullptr ? PyErr_NoMemory() : Callable(state, &guard_function);
}

// -- An answer that a process gives once --

struct Once {
  Held question;
  std::atomic<pid_t> answered_in{0};
  std::atomic<bool> yes{false};
};

PyObject* AskOnce(PyObject* capsule, PyObject* const*, Py_ssize_t) {
  auto* self = StateOf<Once>(capsule);
  const pid_t process = getpid();
  if (self->answered_in != process) {
    PyObject* answer = PyObject_CallNoArgs(self->question.object);
    if (answer == nullptr) return nullptr;
    self->yes = PyObject_IsTrue(answer) > 0;
    Py_DECREF(answer);
    self->answered_in = process;
  }
  if (self->yes) Py_RETURN_TRUE;
  Py_RETURN_NONE;
}

PyMethodDef once_function = {"once", Function(AskOnce), METH_FASTCALL, nullptr};

PyObject* MakeOnce(PyObject*, PyObject* question) {
  auto* state = new (std::nothrow) Once{Held(question)};
  return state == nullptr ? PyErr_NoMemory() : Callable(state, &once_function);
}

PyMethodDef functions[] = {
    {"simulated", Function(Simulated), METH_FASTCALL,
     "environment, result, failed: an environment, or a vector of them, has made a step."},
    {"updates", MakeUpdates, METH_VARARGS,
     "operation, on, check, passed: three functions, for the begin of a scope around an update, "
     "for\n"
     "the update, and for the scope's end, which tells `check` and `passed` what was updated."},
    {"slot_guard", MakeSlotGuard, METH_VARARGS,
     "slot, expected, repair: a function that calls repair() if the pointer at the address `slot`\n"
     "is not `expected`."},
    {"once_per_process", MakeOnce, METH_O,
     "question: a function that answers True or None, as question() did when this process first\n"
     "asked it."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* BeginDeclaredStep(uint32_t kind) {
  program_steps = true;
  uint64_t number = 0;
  return BeginStep(kind, &number) ? PyLong_FromUnsignedLongLong(number) : nullptr;
}

void EndStep() { AtStep(crosscut_step_end); }

PyObject* SetStepHook(PyObject*, PyObject* hook) {
  Py_INCREF(hook);
  if (hook == Py_None) Py_CLEAR(hook);
  step_hook.Set(hook);
  Py_RETURN_NONE;
}

void ForgetLearner() {
  finders_mutex.ForgetHolder();
  learner.Set(nullptr);
}

int AddStepTypes(PyObject* module) {
  crosscut_task_local(&Innermost);
  if (PyType_Ready(&finder_type) != 0 || PyModule_AddFunctions(module, functions) != 0) return -1;
  Py_INCREF(&finder_type);
  return PyModule_AddObject(module, "StepFinder", reinterpret_cast<PyObject*>(&finder_type));
}

}  // namespace crosscut::python
