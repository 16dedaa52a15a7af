#include "python/ext/record_unseen.h"

#include <structmember.h>

#include <cstddef>

#include "crosscut/ref.h"

namespace crosscut::python {
namespace {

struct UnseenCall {
  PyObject_HEAD PyObject* function;
  vectorcallfunc vectorcall;
};

PyObject* Vectorcall(PyObject* object, PyObject* const* args, size_t flags, PyObject* keywords) {
  auto* self = reinterpret_cast<UnseenCall*>(object);
  if (self->function == nullptr) Py_RETURN_NONE;  // was collected
  const Unseen unseen;
  return PyObject_Vectorcall(self->function, args, flags, keywords);
}

PyObject* New(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* function = nullptr;
  if (!PyArg_ParseTuple(args, "O:unseen", &function)) return nullptr;
  if (!PyCallable_Check(function)) {
    PyErr_SetString(PyExc_TypeError, "unseen(): needs a callable");
    return nullptr;
  }
  auto* self = reinterpret_cast<UnseenCall*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  self->function = Ref::Borrow(function).release();
  self->vectorcall = Vectorcall;
  return reinterpret_cast<PyObject*>(self);
}

int Traverse(UnseenCall* self, visitproc visit, void* arg) {
  Py_VISIT(self->function);
  return 0;
}

int Clear(UnseenCall* self) {
  Py_CLEAR(self->function);
  return 0;
}

void Dealloc(UnseenCall* self) {
  PyObject_GC_UnTrack(self);
  Clear(self);
  Py_TYPE(self)->tp_free(self);
}

const char kDoc[] =
    "unseen(function)\n--\n\n"
    "Calls `function` where no profiler, tracer or debugger of the program's looks: for what\n"
    "others call on the program's threads and is none of its own (callbacks of weak references,\n"
    "of fork(), of the recorder).";

PyTypeObject MakeType() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "crosscut._record.unseen";
  type.tp_basicsize = sizeof(UnseenCall);
  type.tp_dealloc = reinterpret_cast<destructor>(Dealloc);
  type.tp_vectorcall_offset = offsetof(UnseenCall, vectorcall);
  type.tp_call = PyVectorcall_Call;
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
  type.tp_doc = kDoc;
  type.tp_traverse = reinterpret_cast<traverseproc>(Traverse);
  type.tp_clear = reinterpret_cast<inquiry>(Clear);
  type.tp_new = New;
  return type;
}
PyTypeObject unseen_type = MakeType();

}  // namespace

#if PY_VERSION_HEX >= 0x030b0000

Unseen::Unseen() : state_(PyThreadState_Get()) { PyThreadState_EnterTracing(state_); }
Unseen::~Unseen() { PyThreadState_LeaveTracing(state_); }

#else  // the same by hand

Unseen::Unseen() : state_(PyThreadState_Get()) {
  ++state_->tracing;
  state_->cframe->use_tracing = 0;
}
Unseen::~Unseen() {
  --state_->tracing;
  state_->cframe->use_tracing = state_->c_tracefunc != nullptr || state_->c_profilefunc != nullptr;
}

#endif

PyObject* OursOrNone(PyObject* callable, PyObject* result) {
  if (result != nullptr || !PyErr_ExceptionMatches(PyExc_Exception)) return result;
  PyErr_WriteUnraisable(callable);
  Py_RETURN_NONE;
}

PyObject* TellUnseen(PyObject* callable, PyObject* argument, PyObject* result) {
  const Ref kept = Ref::Borrow(callable);  // what it does may let go of it
  const Unseen unseen;
  if (!Ref(OursOrNone(callable, PyObject_CallOneArg(callable, argument)))) Py_CLEAR(result);
  return result;
}

int AddUnseenType(PyObject* module) { return PyModule_AddType(module, &unseen_type); }

}  // namespace crosscut::python
