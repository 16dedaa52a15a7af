#include "python/ext/record_awaiting.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "crosscut/crosscut.h"
#include "python/ext/record_operation.h"
#include "python/ext/record_shared.h"
#include "python/ext/record_stack.h"
#include "python/ext/record_unseen.h"

namespace crosscut::python {
namespace {

// Both an awaitable and its own iterator.
struct Awaiting {
  PyObject_HEAD PyObject* inner;  // the iterator that does the work
  PyObject* about;                // what `begins` and `ends` are told
  PyObject* begins;               // null once it was called, and where there is none
  PyObject* ends;
  uint32_t operation;  // open while it runs; 0: none
};

extern PyTypeObject awaiting_type;

PyObject* New(PyObject* inner, PyObject* about, PyObject* begins, PyObject* ends,
              uint32_t operation) {
  auto* self = PyObject_GC_New(Awaiting, &awaiting_type);
  if (self == nullptr) return nullptr;
  Py_INCREF(inner);
  Py_INCREF(about);
  self->inner = inner;
  self->about = about;
  self->begins = begins == Py_None ? nullptr : begins;
  self->ends = ends == Py_None ? nullptr : ends;
  Py_XINCREF(self->begins);
  Py_XINCREF(self->ends);
  self->operation = operation;
  PyObject_GC_Track(self);
  return reinterpret_cast<PyObject*>(self);
}

// Calls one of ours, whose failure is not the program's, and keeps the program's exception. False
// where the program was interrupted: then that is the exception.
bool Tell(PyObject* callable, PyObject* about, PyObject* result, bool failed) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* args[] = {about, result == nullptr ? Py_None : result, failed ? Py_True : Py_False};
  PyObject* answer;
  {
    const Unseen unseen;
    answer = OursOrNone(callable, PyObject_Vectorcall(callable, args, 3, nullptr));
  }
  if (answer == nullptr) {
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return false;
  }
  Py_DECREF(answer);
  PyErr_Restore(type, value, trace);
  return true;
}

// One slice, by `run`, which returns what there is to hand on and says whether it was the last.
template <class Run>
PyObject* Slice(Awaiting* self, Run run, PySendResult* outcome) {
  Py_INCREF(self);  // the slice may let go of it
  const bool opened = self->operation != 0 && EnterOperation(self->operation);
  PyObject* begins = self->begins;
  self->begins = nullptr;
  PyObject* result = nullptr;
  if (begins == nullptr || Tell(begins, self->about, nullptr, false)) {
    *outcome = run(&result);
  } else {
    *outcome = PYGEN_ERROR;
  }
  Py_XDECREF(begins);
  if (*outcome != PYGEN_NEXT && self->ends != nullptr) {
    PyObject* ends = self->ends;
    self->ends = nullptr;
    if (!Tell(ends, self->about, result, *outcome == PYGEN_ERROR)) {
      Py_CLEAR(result);
      *outcome = PYGEN_ERROR;
    }
    Py_DECREF(ends);
  }
  if (opened) ExitOperation(self->operation);
  Py_DECREF(self);
  return result;
}

PySendResult Send(PyObject* object, PyObject* argument, PyObject** result) {
  auto* self = reinterpret_cast<Awaiting*>(object);
  PySendResult outcome = PYGEN_ERROR;
  *result = Slice(
      self, [&](PyObject** into) { return PyIter_Send(self->inner, argument, into); }, &outcome);
  return outcome;
}

// As iterators say it: the last value in a StopIteration.
PyObject* AsIterator(PySendResult outcome, PyObject* result) {
  if (outcome != PYGEN_RETURN) return result;
  // By an instance: a tuple or an exception as its value would be taken apart.
  PyObject* stop = PyObject_CallOneArg(PyExc_StopIteration, result);
  Py_DECREF(result);
  if (stop != nullptr) PyErr_SetObject(PyExc_StopIteration, stop);
  Py_XDECREF(stop);
  return nullptr;
}

PyObject* SendMethod(PyObject* object, PyObject* argument) {
  PyObject* result = nullptr;
  const PySendResult outcome = Send(object, argument, &result);
  return AsIterator(outcome, result);
}

PyObject* Next(PyObject* object) { return SendMethod(object, Py_None); }

// The value of the StopIteration that is the exception, a new reference; null: another exception.
PyObject* ValueOfStop() {
  if (!PyErr_ExceptionMatches(PyExc_StopIteration)) return nullptr;
  PyObject *type = nullptr, *stop = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &stop, &trace);
  PyErr_NormalizeException(&type, &stop, &trace);
  PyObject* value = stop == nullptr ? nullptr : PyObject_GetAttrString(stop, "value");
  Py_XDECREF(type);
  Py_XDECREF(stop);
  Py_XDECREF(trace);
  return value;
}

PyObject* Throw(PyObject* object, PyObject* args) {
  auto* self = reinterpret_cast<Awaiting*>(object);
  PySendResult outcome = PYGEN_ERROR;
  PyObject* method = PyObject_GetAttrString(self->inner, "throw");
  if (method == nullptr) return nullptr;
  PyObject* result = Slice(
      self,
      [&](PyObject** into) {
        *into = PyObject_Call(method, args, nullptr);
        if (*into != nullptr) return PYGEN_NEXT;
        *into = ValueOfStop();
        return *into != nullptr ? PYGEN_RETURN : PYGEN_ERROR;
      },
      &outcome);
  Py_DECREF(method);
  return AsIterator(outcome, result);
}

PyObject* Close(PyObject* object, PyObject*) {
  auto* self = reinterpret_cast<Awaiting*>(object);
  PyObject* method = PyObject_GetAttrString(self->inner, "close");
  if (method == nullptr) return nullptr;
  PySendResult outcome = PYGEN_ERROR;
  PyObject* result = Slice(
      self,
      [&](PyObject** into) {
        *into = PyObject_CallNoArgs(method);
        return *into != nullptr ? PYGEN_RETURN : PYGEN_ERROR;
      },
      &outcome);
  Py_DECREF(method);
  return result;
}

PyObject* Itself(PyObject* self) {
  Py_INCREF(self);
  return self;
}

int Traverse(PyObject* object, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<Awaiting*>(object);
  Py_VISIT(self->inner);
  Py_VISIT(self->about);
  Py_VISIT(self->begins);
  Py_VISIT(self->ends);
  return 0;
}

int Clear(PyObject* object) {
  auto* self = reinterpret_cast<Awaiting*>(object);
  Py_CLEAR(self->about);
  Py_CLEAR(self->begins);
  Py_CLEAR(self->ends);
  return 0;
}

void Dealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  Clear(object);
  Py_CLEAR(reinterpret_cast<Awaiting*>(object)->inner);
  PyObject_GC_Del(object);
}

PyObject* AwaitingNew(PyTypeObject*, PyObject* args, PyObject* keywords) {
  static const char* const names[] = {"awaitable", "operation", "about", "begins", "ends", nullptr};
  PyObject *awaitable, *operation = Py_None, *about = Py_None;
  PyObject *begins = Py_None, *ends = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OOOO:awaiting", const_cast<char**>(names),
                                   &awaitable, &operation, &about, &begins, &ends)) {
    return nullptr;
  }
  const uint32_t name = operation == Py_None ? 0 : NameIdOf(operation);
  if (name == 0 && operation != Py_None) return nullptr;
  PyObject* inner = PyObject_CallMethod(awaitable, "__await__", nullptr);
  if (inner == nullptr) return nullptr;
  PyObject* made = New(inner, about, begins, ends, name);
  Py_DECREF(inner);
  return made;
}

PyMethodDef methods[] = {{"send", SendMethod, METH_O, nullptr},
                         {"throw", Throw, METH_VARARGS, nullptr},
                         {"close", Close, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

const char kDoc[] =
    "awaiting(awaitable, operation=None, about=None, begins=None, ends=None)\n--\n\n"
    "Awaits `awaitable`, and adds no frame. `operation` is open while it runs, not while it is\n"
    "suspended. Inside of it begins(about, None, False) is called before the first slice, and\n"
    "ends(about, result, failed) behind the last, both unseen.";

PyAsyncMethods async_methods = {Itself, nullptr, nullptr, Send};

PyTypeObject MakeType() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "crosscut._record.awaiting";
  type.tp_basicsize = sizeof(Awaiting);
  type.tp_dealloc = Dealloc;
  type.tp_as_async = &async_methods;
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC;
  type.tp_doc = kDoc;
  type.tp_traverse = Traverse;
  type.tp_clear = Clear;
  type.tp_iter = Itself;
  type.tp_iternext = Next;
  type.tp_methods = methods;
  type.tp_new = AwaitingNew;
  return type;
}
PyTypeObject awaiting_type = MakeType();

// ---- Asynchronous generators ----

// In the place of one: each of its items is awaited as above.
struct Each {
  PyObject_HEAD PyObject* inner;
  PyObject* begins;  // null once it was handed on, and where there is none
  PyObject* ends;
  uint32_t operation;
};

// `awaitable`, a reference that it takes over, as one of ours; null where that is null.
PyObject* AsOurs(Each* self, PyObject* awaitable) {
  if (awaitable == nullptr) return nullptr;
  PyObject* inner = PyObject_CallMethod(awaitable, "__await__", nullptr);
  Py_DECREF(awaitable);
  if (inner == nullptr) return nullptr;
  PyObject* begins = self->begins;
  self->begins = nullptr;
  PyObject* made = New(inner, Py_None, begins == nullptr ? Py_None : begins,
                       self->ends == nullptr ? Py_None : self->ends, self->operation);
  Py_XDECREF(begins);
  Py_DECREF(inner);
  return made;
}

PyObject* EachNext(PyObject* object) {
  auto* self = reinterpret_cast<Each*>(object);
  return AsOurs(self, PyObject_CallMethod(self->inner, "__anext__", nullptr));
}

// Sends, throws or closes, by that method of the generator.
template <const char* kName>
PyObject* EachCall(PyObject* object, PyObject* args) {
  auto* self = reinterpret_cast<Each*>(object);
  PyObject* method = PyObject_GetAttrString(self->inner, kName);
  PyObject* awaitable = method == nullptr ? nullptr : PyObject_CallObject(method, args);
  Py_XDECREF(method);
  return AsOurs(self, awaitable);
}

// What is asked of it otherwise is the generator's to answer, its class included.
PyObject* EachAttribute(PyObject* object, PyObject* name) {
  static const char* const ours[] = {"__aiter__", "__anext__", "asend", "athrow", "aclose"};
  for (const char* text : ours) {
    if (PyUnicode_CompareWithASCIIString(name, text) == 0) {
      return PyObject_GenericGetAttr(object, name);
    }
  }
  return PyObject_GetAttr(reinterpret_cast<Each*>(object)->inner, name);
}

int EachTraverse(PyObject* object, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<Each*>(object);
  Py_VISIT(self->inner);
  Py_VISIT(self->begins);
  Py_VISIT(self->ends);
  return 0;
}

int EachClear(PyObject* object) {
  auto* self = reinterpret_cast<Each*>(object);
  Py_CLEAR(self->begins);
  Py_CLEAR(self->ends);
  return 0;
}

void EachDealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  EachClear(object);
  Py_CLEAR(reinterpret_cast<Each*>(object)->inner);
  PyObject_GC_Del(object);
}

PyObject* EachNew(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* const names[] = {"generator", "operation", "begins", "ends", nullptr};
  PyObject *generator, *operation, *begins = Py_None, *ends = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|OO:awaiting_each", const_cast<char**>(names),
                                   &generator, &operation, &begins, &ends)) {
    return nullptr;
  }
  const uint32_t name = NameIdOf(operation);
  if (name == 0) return nullptr;
  auto* self = PyObject_GC_New(Each, type);
  if (self == nullptr) return nullptr;
  Py_INCREF(generator);
  self->inner = generator;
  self->begins = begins == Py_None ? nullptr : begins;
  self->ends = ends == Py_None ? nullptr : ends;
  Py_XINCREF(self->begins);
  Py_XINCREF(self->ends);
  self->operation = name;
  PyObject_GC_Track(self);
  return reinterpret_cast<PyObject*>(self);
}

const char kSend[] = "asend", kThrow[] = "athrow", kClose[] = "aclose";
PyMethodDef each_methods[] = {{kSend, EachCall<kSend>, METH_VARARGS, nullptr},
                              {kThrow, EachCall<kThrow>, METH_VARARGS, nullptr},
                              {kClose, EachCall<kClose>, METH_VARARGS, nullptr},
                              {nullptr, nullptr, 0, nullptr}};

const char kEachDoc[] =
    "awaiting_each(generator, operation, begins=None, ends=None)\n--\n\n"
    "Stands for an asynchronous generator. `operation` is open while it runs; inside of it\n"
    "begins(None, None, False) is called before its first slice, and ends(None, item, failed)\n"
    "whenever it has given an item, or ended.";

PyAsyncMethods each_async = {nullptr, Itself, EachNext, nullptr};

PyTypeObject MakeEachType() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "crosscut._record.awaiting_each";
  type.tp_basicsize = sizeof(Each);
  type.tp_dealloc = EachDealloc;
  type.tp_as_async = &each_async;
  type.tp_getattro = EachAttribute;
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC;
  type.tp_doc = kEachDoc;
  type.tp_traverse = EachTraverse;
  type.tp_clear = EachClear;
  type.tp_methods = each_methods;
  type.tp_new = EachNew;
  return type;
}
PyTypeObject each_type = MakeEachType();

// ---- Awaits of a class's objects ----

PyTypeObject* followed = nullptr;  // under the GIL, as is all that changes it
std::atomic<unaryfunc> original{nullptr};
SharedRef follower;

PyObject* Await(PyObject* object) {
  PyObject* iterator = original.load(std::memory_order_relaxed)(object);
  if (iterator == nullptr || !crosscut_recording()) return iterator;
  PyObject* ends = follower.Get();
  if (ends == nullptr) return iterator;
  PyObject* made = New(iterator, object, Py_None, ends, 0);
  Py_DECREF(ends);
  if (made == nullptr) {
    PyErr_Clear();
    return iterator;
  }
  Py_DECREF(iterator);
  return made;
}

}  // namespace

int AddAwaitingTypes(PyObject* module) {
  for (auto [name, type] : {std::pair("awaiting", &awaiting_type), {"awaiting_each", &each_type}}) {
    if (PyType_Ready(type) != 0) return -1;
    Py_INCREF(type);
    if (PyModule_AddObject(module, name, reinterpret_cast<PyObject*>(type)) != 0) return -1;
  }
  return 0;
}

PyObject* FollowAwait(PyObject*, PyObject* args) {
  PyTypeObject* cls;
  PyObject* callable;
  if (!PyArg_ParseTuple(args, "O!O:follow_await", &PyType_Type, &cls, &callable)) return nullptr;
  if (followed == nullptr && cls->tp_as_async != nullptr && callable != Py_None) {
    original = cls->tp_as_async->am_await;
    if (original.load() != nullptr) {
      followed = cls;
      cls->tp_as_async->am_await = Await;  // it stays: without a follower it just passes on
    }
  }
  if (followed != cls) Py_RETURN_FALSE;
  if (callable == Py_None) {
    follower.Set(nullptr);
  } else {
    Py_INCREF(callable);
    follower.Set(callable);
  }
  Py_RETURN_TRUE;
}

}  // namespace crosscut::python
