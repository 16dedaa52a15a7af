#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "crosscut/crosscut.h"
#include "crosscut/in_python.h"
#include "python/ext/record_module.h"
#include "python/ext/record_operation.h"
#include "python/ext/record_shared.h"
#include "python/ext/record_stack.h"
#include "python/ext/record_unseen.h"

namespace crosscut::python {
namespace {

// An awaitable that is its own iterator; or what stands for an asynchronous generator, each of
// whose items is awaited as such a one.
struct Awaiting {
  PyObject_HEAD PyObject* inner;  // the iterator that does the work; the generator
  PyObject* about;                // what `begins` and `ends` are told
  PyObject* begins;               // null once it was called or handed on, and where there is none
  PyObject* ends;
  uint32_t operation;  // open while it runs; 0: none
};

extern PyTypeObject awaiting_type;

// Who is told; null or None: nobody.
struct Told {
  PyObject *begins, *ends;
};

PyObject* New(PyTypeObject* type, PyObject* inner, PyObject* about, Told told, uint32_t operation) {
  auto* self = PyObject_GC_New(Awaiting, type);
  if (self == nullptr) return nullptr;
  const auto kept = [](PyObject* object) {
    return Ref::Borrow(object == Py_None ? nullptr : object).release();
  };
  self->inner = Ref::Borrow(inner).release();
  self->about = Ref::Borrow(about).release();
  self->begins = kept(told.begins);
  self->ends = kept(told.ends);
  self->operation = operation;
  PyObject_GC_Track(self);
  return reinterpret_cast<PyObject*>(self);
}

// Calls one of ours, whose failure is not the program's, and keeps the program's exception. False
// where the program was interrupted: then that is the exception.
bool Tell(PyObject* callable, PyObject* about, PyObject* result, bool failed) {
  PendingException kept;
  PyObject* args[] = {about, result == nullptr ? Py_None : result, failed ? Py_True : Py_False};
  const Unseen unseen;
  if (Ref(OursOrNone(callable, PyObject_Vectorcall(callable, args, 3, nullptr)))) return true;
  kept.Leave();
  return false;
}

// One slice, by `run`, which returns what there is to hand on and says whether it was the last.
template <class Run>
PyObject* Slice(Awaiting* self, Run run, PySendResult* outcome) {
  // The slice may let go of it.
  const Ref kept = Ref::Borrow(reinterpret_cast<PyObject*>(self));
  const bool opened = self->operation != 0 && EnterOperation(self->operation);
  const Ref begins(std::exchange(self->begins, nullptr));
  PyObject* result = nullptr;
  const bool begun = !begins || Tell(begins.get(), self->about, nullptr, false);
  *outcome = begun ? run(&result) : PYGEN_ERROR;
  if (*outcome != PYGEN_NEXT && self->ends != nullptr) {
    const Ref ends(std::exchange(self->ends, nullptr));
    if (!Tell(ends.get(), self->about, result, *outcome == PYGEN_ERROR)) {
      Py_CLEAR(result);
      *outcome = PYGEN_ERROR;
    }
  }
  if (opened) ExitOperation(self->operation);
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
  const Ref value(result), stop(PyObject_CallOneArg(PyExc_StopIteration, result));
  if (stop) PyErr_SetObject(PyExc_StopIteration, stop.get());
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
  const Ref stop = TakeException();
  return stop ? PyObject_GetAttrString(stop.get(), "value") : nullptr;
}

PyObject* Throw(PyObject* object, PyObject* args) {
  auto* self = reinterpret_cast<Awaiting*>(object);
  PySendResult outcome = PYGEN_ERROR;
  const Ref method(PyObject_GetAttrString(self->inner, "throw"));
  if (!method) return nullptr;
  PyObject* result = Slice(
      self,
      [&](PyObject** into) {
        *into = PyObject_Call(method.get(), args, nullptr);
        if (*into != nullptr) return PYGEN_NEXT;
        *into = ValueOfStop();
        return *into != nullptr ? PYGEN_RETURN : PYGEN_ERROR;
      },
      &outcome);
  return AsIterator(outcome, result);
}

PyObject* Close(PyObject* object, PyObject*) {
  auto* self = reinterpret_cast<Awaiting*>(object);
  const Ref method(PyObject_GetAttrString(self->inner, "close"));
  if (!method) return nullptr;
  PySendResult outcome = PYGEN_ERROR;
  return Slice(
      self,
      [&](PyObject** into) {
        *into = PyObject_CallNoArgs(method.get());
        return *into != nullptr ? PYGEN_RETURN : PYGEN_ERROR;
      },
      &outcome);
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
  const Ref inner(PyObject_CallMethod(awaitable, "__await__", nullptr));
  return inner ? New(&awaiting_type, inner.get(), about, {begins, ends}, name) : nullptr;
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

PyTypeObject MakeType(const char* name, const char* doc, PyAsyncMethods* async, PyMethodDef* calls,
                      newfunc make) {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = name;
  type.tp_basicsize = sizeof(Awaiting);
  type.tp_dealloc = Dealloc;
  type.tp_as_async = async;
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC;
  type.tp_doc = doc;
  type.tp_traverse = Traverse;
  type.tp_clear = Clear;
  type.tp_methods = calls;
  type.tp_new = make;
  return type;
}

PyTypeObject MakeAwaitingType() {
  PyTypeObject type =
      MakeType("crosscut._record.awaiting", kDoc, &async_methods, methods, AwaitingNew);
  type.tp_iter = Itself;
  type.tp_iternext = Next;
  return type;
}
PyTypeObject awaiting_type = MakeAwaitingType();

// ---- Asynchronous generators ----

// `awaitable`, null or of an item, as one of ours.
PyObject* AsOurs(Awaiting* self, const Ref& awaitable) {
  const Ref inner(awaitable ? PyObject_CallMethod(awaitable.get(), "__await__", nullptr) : nullptr);
  if (!inner) return nullptr;
  const Ref begins(std::exchange(self->begins, nullptr));
  return New(&awaiting_type, inner.get(), Py_None, {begins.get(), self->ends}, self->operation);
}

PyObject* EachNext(PyObject* object) {
  auto* self = reinterpret_cast<Awaiting*>(object);
  return AsOurs(self, Ref(PyObject_CallMethod(self->inner, "__anext__", nullptr)));
}

// Sends, throws or closes, by that method of the generator.
template <const char* kName>
PyObject* EachCall(PyObject* object, PyObject* args) {
  auto* self = reinterpret_cast<Awaiting*>(object);
  const Ref method(PyObject_GetAttrString(self->inner, kName));
  return AsOurs(self, Ref(method ? PyObject_CallObject(method.get(), args) : nullptr));
}

// What is asked of it otherwise is the generator's to answer, its class included.
PyObject* EachAttribute(PyObject* object, PyObject* name) {
  static const char* const ours[] = {"__aiter__", "__anext__", "asend", "athrow", "aclose"};
  for (const char* text : ours) {
    if (PyUnicode_CompareWithASCIIString(name, text) == 0) {
      return PyObject_GenericGetAttr(object, name);
    }
  }
  return PyObject_GetAttr(reinterpret_cast<Awaiting*>(object)->inner, name);
}

PyObject* EachNew(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* const names[] = {"generator", "operation", "begins", "ends", nullptr};
  PyObject *generator, *operation, *begins = Py_None, *ends = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|OO:awaiting_each", const_cast<char**>(names),
                                   &generator, &operation, &begins, &ends)) {
    return nullptr;
  }
  const uint32_t name = NameIdOf(operation);
  return name == 0 ? nullptr : New(type, generator, Py_None, {begins, ends}, name);
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
  PyTypeObject type =
      MakeType("crosscut._record.awaiting_each", kEachDoc, &each_async, each_methods, EachNew);
  type.tp_getattro = EachAttribute;
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
  const Ref ends = follower.Get();
  if (!ends) return iterator;
  PyObject* made = New(&awaiting_type, iterator, object, {Py_None, ends.get()}, 0);
  if (made == nullptr) {
    PyErr_Clear();
    return iterator;
  }
  Py_DECREF(iterator);
  return made;
}

}  // namespace

int AddAwaitingTypes(PyObject* module) {
  if (PyModule_AddType(module, &awaiting_type) != 0) return -1;
  return PyModule_AddType(module, &each_type);
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
  follower.Set(callable);
  Py_RETURN_TRUE;
}

}  // namespace crosscut::python
