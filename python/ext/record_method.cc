#include "python/ext/record_method.h"

#include <structmember.h>

#include <cstddef>
#include <cstdint>

#include "crosscut/crosscut.h"
#include "python/ext/record_operation.h"

namespace crosscut::python {
namespace {

// In C since programs call such methods tens of thousands of times a second: around a call that
// does nothing this takes a tenth of what a function in Python takes.
struct Method {
  PyObject_HEAD PyObject* function;
  PyObject* called;  // in place of `function` while `on`
  PyObject* after;   // null: nobody is told
  const int32_t* on;
  uint32_t operation;
  uint32_t span;  // 0: none
  vectorcallfunc vectorcall;
};

// A name that is open between construction and destruction, if it could be opened.
class Scope {
 public:
  Scope(uint32_t name, bool wanted) : name_(name), opened_(wanted && EnterOperation(name)) {}
  ~Scope() {
    if (opened_) ExitOperation(name_);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  uint32_t name_;
  bool opened_;
};

// Calls that are told of, open on this thread in the task that it runs: those inside another are a
// part of it.
thread_local int32_t told_of = 0;
int32_t* ToldOf() { return &told_of; }

// Calls `after` where the outermost call has ended well. What it raises is nobody's to handle.
PyObject* Tell(PyObject* after, PyObject* result) {
  if (told_of != 0 || result == nullptr) return result;
  PyObject* answer = PyObject_CallNoArgs(after);
  if (answer == nullptr) PyErr_WriteUnraisable(after);
  Py_XDECREF(answer);
  return result;
}

PyObject* CallRecorded(Method* self, PyObject* const* args, size_t flags, PyObject* keywords) {
  const Scope operation(self->operation, !IsOpen(self->operation));
  const Scope span(self->span, self->span != 0);
  return PyObject_Vectorcall(self->called, args, flags, keywords);
}

PyObject* MethodVectorcall(PyObject* object, PyObject* const* args, size_t flags,
                           PyObject* keywords) {
  auto* self = reinterpret_cast<Method*>(object);
  if (self->function == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "a method is called after it was collected");
    return nullptr;
  }
  const bool on = __atomic_load_n(self->on, __ATOMIC_RELAXED) != 0;
  if (!on && (self->after == nullptr || told_of != 0)) {
    return PyObject_Vectorcall(self->function, args, flags, keywords);
  }
  // The call may replace this object in its class.
  Py_INCREF(self);
  told_of += self->after != nullptr;
  PyObject* result = on ? CallRecorded(self, args, flags, keywords)
                        : PyObject_Vectorcall(self->function, args, flags, keywords);
  if (self->after != nullptr) {
    --told_of;
    result = Tell(self->after, result);
  }
  Py_DECREF(self);
  return result;
}

PyObject* MethodNew(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* const names[] = {"operation", "function", "called", "on",
                                      "span",      "after",    nullptr};
  PyObject *operation, *function, *called, *span, *after = Py_None;
  unsigned long long on;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOKO|O:method", const_cast<char**>(names),
                                   &operation, &function, &called, &on, &span, &after)) {
    return nullptr;
  }
  const uint32_t operation_id = NameIdOf(operation);
  if (operation_id == 0) return nullptr;
  const uint32_t span_id = span == Py_None ? 0 : NameIdOf(span);
  if (span_id == 0 && span != Py_None) return nullptr;
  if (!PyCallable_Check(function) || !PyCallable_Check(called) || on == 0) {
    PyErr_SetString(PyExc_TypeError, "method(): needs two callables and an address");
    return nullptr;
  }
  auto* self = reinterpret_cast<Method*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  Py_INCREF(function);
  self->function = function;
  Py_INCREF(called);
  self->called = called;
  self->after = after == Py_None ? nullptr : after;
  Py_XINCREF(self->after);
  self->on = reinterpret_cast<const int32_t*>(static_cast<uintptr_t>(on));
  self->operation = operation_id;
  self->span = span_id;
  self->vectorcall = MethodVectorcall;
  return reinterpret_cast<PyObject*>(self);
}

int MethodTraverse(Method* self, visitproc visit, void* arg) {
  Py_VISIT(self->function);
  Py_VISIT(self->called);
  Py_VISIT(self->after);
  return 0;
}

int MethodClear(Method* self) {
  Py_CLEAR(self->function);
  Py_CLEAR(self->called);
  Py_CLEAR(self->after);
  return 0;
}

void MethodDealloc(Method* self) {
  PyObject_GC_UnTrack(self);
  MethodClear(self);
  Py_TYPE(self)->tp_free(self);
}

PyObject* MethodGet(PyObject* object, PyObject* instance, PyObject*) {
  auto* self = reinterpret_cast<Method*>(object);
  if (instance != nullptr && instance != Py_None) return PyMethod_New(object, instance);
  PyObject* function = self->function != nullptr ? self->function : Py_None;
  Py_INCREF(function);
  return function;
}

PyObject* Reduce(Method* self, PyObject*) {
  PyObject* module = PyImport_ImportModule("copy");
  if (module == nullptr) return nullptr;
  PyObject* copy = PyObject_GetAttrString(module, "copy");  // gives back a function as it is
  Py_DECREF(module);
  return copy == nullptr ? nullptr : Py_BuildValue("N(O)", copy, self->function);
}

// What is asked of a bound method (`__name__`, `__code__`, a decorator's mark) is the function's
// to answer; ours is only what makes us a method.
PyObject* GetAttribute(PyObject* object, PyObject* name) {
  static const char* const ours[] = {"__class__",     "__get__",    "__call__",
                                     "__reduce_ex__", "__reduce__", "__wrapped__"};
  auto* self = reinterpret_cast<Method*>(object);
  for (const char* text : ours) {
    if (PyUnicode_CompareWithASCIIString(name, text) == 0) {
      return PyObject_GenericGetAttr(object, name);
    }
  }
  if (self->function == nullptr) return PyObject_GenericGetAttr(object, name);
  return PyObject_GetAttr(self->function, name);
}

PyMethodDef methods[] = {
    {"__reduce__", reinterpret_cast<PyCFunction>(Reduce), METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {
    {const_cast<char*>("__wrapped__"), T_OBJECT, offsetof(Method, function), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

const char kDoc[] =
    "method(operation, function, called, on, span, after=None)\n--\n\n"
    "Stands in the dictionary of a class for its method `function`. Calls through an instance are\n"
    "the operation, unless one of that name is open on the thread, and in it the span (of span();\n"
    "None: no span), as long as the int32 at the address `on` is not 0; they call `called` then,\n"
    "else `function`. `after`, where there is one, is called when the outermost call on a thread\n"
    "of all methods that have one has returned. The class itself, and who pickles this object,\n"
    "see `function`.";

PyTypeObject MakeType() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "crosscut._record.method";
  type.tp_basicsize = sizeof(Method);
  type.tp_dealloc = reinterpret_cast<destructor>(MethodDealloc);
  type.tp_vectorcall_offset = offsetof(Method, vectorcall);
  type.tp_call = PyVectorcall_Call;
  type.tp_getattro = GetAttribute;
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_METHOD_DESCRIPTOR |
                  Py_TPFLAGS_HAVE_VECTORCALL;
  type.tp_doc = kDoc;
  type.tp_traverse = reinterpret_cast<traverseproc>(MethodTraverse);
  type.tp_clear = reinterpret_cast<inquiry>(MethodClear);
  type.tp_methods = methods;
  type.tp_members = members;
  type.tp_descr_get = MethodGet;
  type.tp_new = MethodNew;
  return type;
}
PyTypeObject method_type = MakeType();

}  // namespace

int AddMethodType(PyObject* module) {
  if (PyType_Ready(&method_type) != 0) return -1;
  crosscut_task_local(&ToldOf);
  Py_INCREF(&method_type);
  return PyModule_AddObject(module, "method", reinterpret_cast<PyObject*>(&method_type));
}

}  // namespace crosscut::python
