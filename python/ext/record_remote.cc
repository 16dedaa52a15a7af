#include <atomic>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "crosscut/crosscut.h"
#include "crosscut/ref.h"
#include "python/ext/record_callable.h"
#include "python/ext/record_module.h"
#include "python/ext/record_operation.h"
#include "python/ext/record_shared.h"
#include "python/ext/record_stack.h"

namespace crosscut::python {
namespace {

constexpr Py_ssize_t kMostArrows = 256;      // at one span
constexpr Py_ssize_t kMostNames = 4;         // of tasks that a span says
constexpr Py_ssize_t kMostKnown = 8192;      // calls whose names are remembered
constexpr Py_ssize_t kNumber = 4;            // bytes of an object's number
constexpr uint32_t kFirstPut = 100'000'000;  // number of what is no result

SharedDict names;  // bytes of a task -> what was called
SharedDict spans;  // str -> name id

PyObject* Interned(const char* text) { return PyUnicode_InternFromString(text); }

// Null without an exception where there is none of that name.
Ref Optional(PyObject* object, PyObject* name) {
  PyObject* value = nullptr;
#if PY_VERSION_HEX >= 0x030d0000
  PyObject_GetOptionalAttr(object, name, &value);
#else
  _PyObject_LookupAttr(object, name, &value);
#endif
  return Ref(value);
}

// ---- What is under way on this thread ----

struct Open {
  uint32_t span;
  bool opened;
  PyObject* asked;  // what it is for: a str, a list of references, or None
};
// A thread that ends inside keeps what it holds: nobody can give it back then.
thread_local std::vector<Open> open_calls;

PyObject* Begin(uint32_t span, PyObject* asked) {
  Py_INCREF(asked);
  open_calls.push_back({span, EnterOperation(span), asked});
  Py_RETURN_TRUE;
}

// Ends the innermost when it goes.
class Ending {
 public:
  ~Ending() {
    if (open_calls.empty()) return;
    const Open open = open_calls.back();
    open_calls.pop_back();
    if (open.opened) ExitOperation(open.span);
    Py_DECREF(open.asked);
  }
  PyObject* asked() const { return open_calls.empty() ? Py_None : open_calls.back().asked; }
};

// What fails in another Ray than we know is told, and goes no further.
PyObject* Quiet(PyObject* problem, PyObject* result) {
  if (result != nullptr || !PyErr_ExceptionMatches(PyExc_Exception)) return result;
  const Ref value = TakeException();
  const Ref told(PyObject_CallOneArg(problem, value ? value.get() : Py_None));
  PyErr_Clear();
  Py_RETURN_NONE;
}

// ---- References ----

// Its bytes; null where it is no reference, or with an exception.
Ref BytesOf(PyObject* one) {
  static PyObject *const generator = Interned("_generator_ref"), *const binary = Interned("binary");
  Ref reference = Optional(one, generator);
  if (PyErr_Occurred()) return Ref(nullptr);
  const Ref method = Optional(reference ? reference.get() : one, binary);
  Ref bytes(method ? PyObject_CallNoArgs(method.get()) : nullptr);
  return bytes && PyBytes_Check(bytes.get()) && PyBytes_GET_SIZE(bytes.get()) > kNumber
             ? std::move(bytes)
             : Ref(nullptr);
}

Ref TaskOf(const Ref& bytes) {
  return Ref(!bytes ? nullptr
                    : PyBytes_FromStringAndSize(PyBytes_AS_STRING(bytes.get()),
                                                PyBytes_GET_SIZE(bytes.get()) - kNumber));
}

// What both ends of an arrow know a result, or what was put, by.
Ref KeyOf(PyObject* one) {
  Ref bytes = BytesOf(one);
  if (!bytes) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a reference has no bytes");
    return bytes;
  }
  uint32_t number = 0;
  std::memcpy(&number, PyBytes_AS_STRING(bytes.get()) + PyBytes_GET_SIZE(bytes.get()) - kNumber,
              kNumber);  // little-endian, as all that we run on
  return number >= kFirstPut ? std::move(bytes) : TaskOf(bytes);
}

bool Flow(PyObject* (*mark)(PyObject*, PyObject* const*, Py_ssize_t), const Ref& key, bool result) {
  PyObject* args[] = {key.get(), result ? Py_True : Py_False};
  return key && Ref(mark(nullptr, args, 2));
}

// Arrows from where these were made to the innermost open span.
bool Arrive(PyObject* references) {
  if (!PyList_Check(references)) {
    PyErr_SetString(PyExc_TypeError, "Ray gave no list of references");
    return false;
  }
  for (Py_ssize_t i = 0; i < kMostArrows && i < PyList_GET_SIZE(references); ++i) {
    const Ref one = Ref::Borrow(PyList_GET_ITEM(references, i));
    if (!Flow(FlowInFunction, KeyOf(one.get()), true)) return false;
  }
  return true;
}

// ---- Calls ----

struct Call {
  Held problem, path;  // of attributes, a tuple
  bool method;         // whose name is the second argument
};

Ref NameOf(const Call* self, PyObject* const* args, Py_ssize_t count) {
  Ref at = Ref::Borrow(count > 0 ? args[0] : Py_None);
  for (Py_ssize_t i = 0; at && i < PyTuple_GET_SIZE(self->path.object); ++i) {
    at = Ref(PyObject_GetAttr(at.get(), PyTuple_GET_ITEM(self->path.object, i)));
  }
  if (!at || !self->method) return at;
  if (!PyUnicode_Check(at.get()) || count < 2) {
    PyErr_SetString(PyExc_TypeError, "a method's name is missing");
    return Ref(nullptr);
  }
  const Py_ssize_t size = PyUnicode_GET_LENGTH(at.get());
  const Py_ssize_t dot = PyUnicode_FindChar(at.get(), '.', 0, size, -1);
  const Ref cls(PyUnicode_Substring(at.get(), dot + 1, size));
  return Ref(!cls ? nullptr : PyUnicode_FromFormat("%U.%S", cls.get(), args[1]));
}

uint32_t SpanOf(PyObject* called) {
  if (const Ref known = spans.Get(called)) {
    return static_cast<uint32_t>(PyLong_AsUnsignedLong(known.get()));
  }
  const Ref text(PyUnicode_FromFormat("%U.remote", called));
  const Ref span(!text ? nullptr : MakeSpan(text.get(), CROSSCUT_COMM));
  const uint32_t id = span ? NameIdOf(span.get()) : 0;
  const Ref number(id == 0 ? nullptr : PyLong_FromUnsignedLong(id));
  if (number && spans.size() < kMostKnown) spans.Set(called, number.get());
  return id;
}

PyObject* CallBegins(PyObject* capsule, PyObject* const* args, Py_ssize_t count, PyObject*) {
  const auto* self = StateOf<Call>(capsule);
  const Ref called = NameOf(self, args, count);
  if (called && !PyUnicode_Check(called.get())) {
    PyErr_SetString(PyExc_TypeError, "what is called has no name");
  }
  const uint32_t span = PyErr_Occurred() ? 0 : SpanOf(called.get());
  return Quiet(self->problem.object, span == 0 ? nullptr : Begin(span, called.get()));
}

// ---- Waits ----

struct Wait {
  Held problem;
  uint32_t span;
  Py_ssize_t place;  // of the argument that says for what
  Held keyword;      // which may say it; None: the argument itself is what gives
};

bool Say(PyObject* key, const Ref& value) {
  PyObject* args[] = {key, value.get()};
  return value && Ref(ArgFunction(nullptr, args, 2));
}

// The names of what is waited for, each once: a list.
Ref NamesOf(PyObject* asked) {
  Ref found(PyDict_New());
  for (Py_ssize_t i = 0; found && i < kMostArrows && i < PyList_GET_SIZE(asked); ++i) {
    const Ref one = Ref::Borrow(PyList_GET_ITEM(asked, i));
    const Ref task = TaskOf(BytesOf(one.get()));
    const Ref name = task ? names.Get(task.get()) : Ref();
    if (PyErr_Occurred() || (name && PyDict_SetItem(found.get(), name.get(), Py_None) != 0)) {
      return Ref(nullptr);
    }
  }
  return Ref(found ? PyDict_Keys(found.get()) : nullptr);
}

// The span that was begun waits for these.
PyObject* Tell(PyObject* asked) {
  static PyObject *const objects = Interned("objects"), *const for_ = Interned("for");
  static PyObject* const comma = Interned(", ");
  const Py_ssize_t count = PyList_GET_SIZE(asked);
  if (!Say(objects, Ref(PyLong_FromSsize_t(count)))) return nullptr;
  const Ref all = NamesOf(asked);
  if (!all) return nullptr;
  const Py_ssize_t named = PyList_GET_SIZE(all.get());
  if (named > 0) {
    const Ref first(PyList_GetSlice(all.get(), 0, kMostNames));
    Ref text(first ? PyUnicode_Join(comma, first.get()) : nullptr);
    if (text && named > kMostNames) {
      text = Ref(PyUnicode_FromFormat("%U and %zd more", text.get(), named - kMostNames));
    }
    if (!Say(for_, text)) return nullptr;
  }
  Py_RETURN_TRUE;
}

// What is waited for, a list; null with an exception.
Ref Asked(const Wait* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  if (self->keyword.object == Py_None) {
    Ref list(PyList_New(self->place >= 0 && self->place < count ? 1 : 0));
    if (list && PyList_GET_SIZE(list.get()) > 0) {
      PyList_SET_ITEM(list.get(), 0, Ref::Borrow(args[self->place]).release());
    }
    return list;
  }
  PyObject* asked = Argument(args, count, keywords, self->place, self->keyword.object);
  // What is no list is the program's mistake, and its library says so.
  return asked != nullptr && PyList_Check(asked) ? Ref::Borrow(asked) : Ref(PyList_New(0));
}

PyObject* WaitBegins(PyObject* capsule, PyObject* const* args, Py_ssize_t count,
                     PyObject* keywords) {
  const auto* self = StateOf<Wait>(capsule);
  const Ref asked = Asked(self, args, count, keywords);
  if (!asked) return nullptr;
  Ref begun(Begin(self->span, asked.get()));
  if (self->place < 0) return begun.release();
  const Ref told(Quiet(self->problem.object, Tell(asked.get())));
  if (!told) const Ending interrupted;
  return told ? begun.release() : nullptr;
}

// ---- Ends of both ----

struct Ends {
  Held problem, task_of_actor;
};

bool Failed(PyObject* const* args, Py_ssize_t count) { return count < 3 || args[2] == Py_True; }

// The task that a call has made; null where it returns nothing that tells, or with an exception.
Ref TaskOfCall(const Ends* self, PyObject* result) {
  static PyObject* const actor_id = Interned("_ray_actor_id");
  const Ref actor = Optional(result, actor_id);
  if (PyErr_Occurred()) return Ref(nullptr);
  if (actor && actor.get() != Py_None) {
    return Ref(PyObject_CallOneArg(self->task_of_actor.object, actor.get()));
  }
  const bool several = PyList_Check(result) && PyList_GET_SIZE(result) > 0;
  const Ref first = Ref::Borrow(several ? PyList_GET_ITEM(result, 0) : result);
  return TaskOf(BytesOf(first.get()));
}

bool Remember(const Ref& task, PyObject* called) {
  if (names.size() >= kMostKnown) names.RemoveFirst();
  return names.Set(task.get(), called);
}

PyObject* Called(PyObject* capsule, PyObject* const* args, Py_ssize_t count) {
  const Ending ending;
  const auto* self = StateOf<Ends>(capsule);
  if (Failed(args, count)) Py_RETURN_NONE;
  const Ref task = TaskOfCall(self, args[1]);
  if (task && Flow(FlowOutFunction, task, false)) Remember(task, ending.asked());
  return Quiet(self->problem.object, PyErr_Occurred() ? nullptr : Ref::None().release());
}

// Behind a wait: the arrows from what `of` says of the result.
template <class Of>
PyObject* Came(PyObject* capsule, PyObject* const* args, Py_ssize_t count, Of of) {
  const Ending ending;
  if (Failed(args, count)) Py_RETURN_NONE;
  const bool good = of(ending.asked(), args[1]);
  return Quiet(StateOf<Ends>(capsule)->problem.object, good ? Ref::None().release() : nullptr);
}

PyObject* Got(PyObject* capsule, PyObject* const* args, Py_ssize_t count) {
  return Came(capsule, args, count, [](PyObject* asked, PyObject*) { return Arrive(asked); });
}

PyObject* Waited(PyObject* capsule, PyObject* const* args, Py_ssize_t count) {
  return Came(capsule, args, count, [](PyObject*, PyObject* result) {
    const Ref ready(PySequence_GetItem(result, 0));
    return ready && Arrive(ready.get());
  });
}

PyObject* Next(PyObject* capsule, PyObject* const* args, Py_ssize_t count) {
  return Came(capsule, args, count, [](PyObject*, PyObject* reference) {
    return Flow(FlowInFunction, KeyOf(reference), true);
  });
}

PyObject* Stored(PyObject* capsule, PyObject* const* args, Py_ssize_t count) {
  return Came(capsule, args, count, [](PyObject*, PyObject* reference) {
    return Flow(FlowOutFunction, KeyOf(reference), true);
  });
}

// Behind an `await` of a reference, which has no span of its own.
PyObject* Awaited(PyObject* capsule, PyObject* const* args, Py_ssize_t count) {
  if (Failed(args, count)) Py_RETURN_NONE;
  const bool good = Flow(FlowInFunction, KeyOf(args[0]), true);
  return Quiet(StateOf<Ends>(capsule)->problem.object, good ? Ref::None().release() : nullptr);
}

// ---- What a thread reads ----

struct Reading {
  Held reads;
  uint64_t id;
};
thread_local uint64_t settled = 0;  // id of whose function wants to hear no more of this thread

PyObject* Reads(PyObject* capsule, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  const auto* self = StateOf<Reading>(capsule);
  if (settled == self->id) Py_RETURN_NONE;
  PyObject* result =
      PyObject_Vectorcall(self->reads.object, args, static_cast<size_t>(count), keywords);
  if (result == Py_False) settled = self->id;
  return result;
}

PyObject* ReadsAgain(PyObject*, PyObject*) {
  settled = 0;
  Py_RETURN_NONE;
}

// ---- What makes them ----

PyMethodDef call_function = {"call_begins", Function(CallBegins), METH_FASTCALL | METH_KEYWORDS,
                             nullptr};
PyMethodDef wait_function = {"wait_begins", Function(WaitBegins), METH_FASTCALL | METH_KEYWORDS,
                             nullptr};
PyMethodDef reads_function = {"reads", Function(Reads), METH_FASTCALL | METH_KEYWORDS, nullptr};
PyMethodDef end_functions[] = {
    {"called", Function(Called), METH_FASTCALL, "first, result, failed"},
    {"got", Function(Got), METH_FASTCALL, "first, result, failed"},
    {"waited", Function(Waited), METH_FASTCALL, "first, result, failed"},
    {"came", Function(Next), METH_FASTCALL, "first, result, failed"},
    {"stored", Function(Stored), METH_FASTCALL, "first, result, failed"},
    {"awaited", Function(Awaited), METH_FASTCALL, "reference, result, failed"}};

PyObject* MakeCall(PyObject*, PyObject* args) {
  PyObject *problem, *path;
  int method = 0;
  if (!PyArg_ParseTuple(args, "OO!p:remote_call", &problem, &PyTuple_Type, &path, &method)) {
    return nullptr;
  }
  return Callable(new (std::nothrow) Call{Held(problem), Held(path), method != 0}, &call_function);
}

PyObject* MakeWait(PyObject*, PyObject* args) {
  PyObject *problem, *span, *keyword;
  Py_ssize_t place = 0;
  if (!PyArg_ParseTuple(args, "OOnO:remote_wait", &problem, &span, &place, &keyword)) {
    return nullptr;
  }
  const uint32_t name = NameIdOf(span);
  if (name == 0) return nullptr;
  return Callable(new (std::nothrow) Wait{Held(problem), name, place, Held(keyword)},
                  &wait_function);
}

PyObject* MakeEnds(PyObject*, PyObject* args) {
  PyObject *problem, *task_of_actor;
  if (!PyArg_ParseTuple(args, "OO:remote_ends", &problem, &task_of_actor)) return nullptr;
  return Callables(new (std::nothrow) Ends{Held(problem), Held(task_of_actor)}, end_functions);
}

PyObject* MakeReads(PyObject*, PyObject* reads) {
  static std::atomic<uint64_t> ids{0};
  return Callable(new (std::nothrow) Reading{Held(reads), ++ids}, &reads_function);
}

PyMethodDef functions[] = {
    {"remote_call", MakeCall, METH_VARARGS,
     "problem, path, method: what is told before a call. Attributes of the first argument say its\n"
     "name, and if it is a method's, the second. `problem` is told of what fails."},
    {"remote_wait", MakeWait, METH_VARARGS,
     "problem, span, place, keyword: what is told before a wait, which is `span`, for the\n"
     "references in the argument of that place or keyword. Keyword None: for what the argument\n"
     "itself gives; place -1: for nothing that is known."},
    {"remote_ends", MakeEnds, METH_VARARGS,
     "problem, task_of_actor: what is told behind a call; a wait for all references, for some of\n"
     "them, for the next one; a store; and an `await`."},
    {"remote_reads", MakeReads, METH_O,
     "function: passes calls on to it until it answers False, on each thread."},
    {"remote_reads_again", ReadsAgain, METH_NOARGS, "On this thread it passes them on again."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int AddRemoteFunctions(PyObject* module) {
  return names.Make() && spans.Make() ? PyModule_AddFunctions(module, functions) : -1;
}

}  // namespace crosscut::python
