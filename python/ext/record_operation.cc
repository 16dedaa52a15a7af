#include "python/ext/record_operation.h"

#include <structmember.h>

#include <new>

#include "crosscut/crosscut.h"
#include "python/ext/record_shared.h"

namespace crosscut::python {
namespace {

// Objects of one name are one object: they hold no state of a scope, so `operation("x")` in a loop
// is a dict lookup. A program with endless different names gets unshared objects beyond this.
constexpr Py_ssize_t kSharedOperations = 4096;

struct Operation {
  PyObject_HEAD PyObject* name;
  uint32_t id;
  Tally unseen;  // blocks entered while nothing was recorded, and not left yet
};

SharedDict shared;  // str -> Operation
SharedRef decorator;

PyObject* MakeUnshared(PyTypeObject* type, PyObject* name, uint32_t id) {
  if (id == 0 && PyErr_Occurred()) return nullptr;
  Operation* self = PyObject_New(Operation, type);
  if (self == nullptr) return nullptr;
  Py_INCREF(name);
  self->name = name;
  self->id = id;
  new (&self->unseen) Tally;
  return reinterpret_cast<PyObject*>(self);
}

PyObject* NewOperation(PyTypeObject* type, PyObject* name) {
  PyObject* self = MakeUnshared(
      type, name, NameId(name, CROSSCUT_OPERATION, CROSSCUT_LAYER_NONE, CROSSCUT_CROSSES));
  if (self != nullptr && shared.size() < kSharedOperations && !shared.Set(name, self)) {
    Py_DECREF(self);
    return nullptr;
  }
  return self;
}

PyObject* Decorate(PyObject* self, PyObject* function) {
  PyObject* decorate = decorator.Get();
  if (decorate == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "crosscut._record is used without the package crosscut");
    return nullptr;
  }
  PyObject* decorated = PyObject_CallFunctionObjArgs(decorate, self, function, nullptr);
  Py_DECREF(decorate);
  return decorated;
}

// `@operation` without a name: the function's own qualified name, or its type's.
PyObject* DecorateByName(PyTypeObject* type, PyObject* function) {
  PyObject* name = PyObject_GetAttrString(function, "__qualname__");
  if (name == nullptr || !PyUnicode_CheckExact(name)) {  // a partial, a callable object
    PyErr_Clear();
    Py_XDECREF(name);
    name = PyUnicode_FromString(Py_TYPE(function)->tp_name);
    if (name == nullptr) return nullptr;
  }
  PyObject* self = NewOperation(type, name);
  Py_DECREF(name);
  if (self == nullptr) return nullptr;
  PyObject* result = Decorate(self, function);
  Py_DECREF(self);
  return result;
}

PyObject* OperationFor(PyTypeObject* type, PyObject* name) {
  if (!PyUnicode_CheckExact(name)) {
    if (PyCallable_Check(name)) return DecorateByName(type, name);
    PyObject* plain = AsText(name);
    if (plain == nullptr) return nullptr;
    PyObject* result = OperationFor(type, plain);
    Py_DECREF(plain);
    return result;
  }
  if (PyObject* known = shared.Get(name)) return known;
  return PyErr_Occurred() ? nullptr : NewOperation(type, name);
}

PyObject* OperationVectorcall(PyObject* type, PyObject* const* args, size_t flags,
                              PyObject* keywords) {
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  const bool by_keyword =
      count == 0 && named == 1 &&
      PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "name") == 0;
  if (!by_keyword && (count != 1 || named != 0)) {
    PyErr_SetString(PyExc_TypeError, "operation() takes exactly one argument: the name");
    return nullptr;
  }
  return OperationFor(reinterpret_cast<PyTypeObject*>(type), args[0]);
}

PyObject* OperationNew(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* name = nullptr;
  if (!PyArg_ParseTuple(args, "O:operation", &name)) return nullptr;
  return OperationFor(type, name);
}

void OperationDealloc(Operation* self) {
  Py_XDECREF(self->name);
  PyObject_Free(self);
}

PyObject* Enter(Operation* self, PyObject*) {
  if (!EnterOperation(self->id)) self->unseen.Add();
  Py_INCREF(self);
  return reinterpret_cast<PyObject*>(self);
}

PyObject* Exit(Operation* self, PyObject* const*, Py_ssize_t) {
  ExitOperation(self->id, &self->unseen);
  Py_RETURN_FALSE;
}

PyObject* Call(PyObject* self, PyObject* args, PyObject* keywords) {
  PyObject* function = nullptr;
  if (keywords != nullptr && PyDict_GET_SIZE(keywords) != 0) {
    PyErr_SetString(PyExc_TypeError, "an operation decorates one function and takes nothing else");
    return nullptr;
  }
  if (!PyArg_ParseTuple(args, "O:operation", &function)) return nullptr;
  return Decorate(self, function);
}

PyObject* Repr(Operation* self) { return PyUnicode_FromFormat("operation(%R)", self->name); }

PyObject* Reduce(Operation* self, PyObject*) {
  return Py_BuildValue("O(O)", Py_TYPE(self), self->name);
}

PyMethodDef methods[] = {
    {"__enter__", reinterpret_cast<PyCFunction>(Enter), METH_NOARGS, "Opens the operation."},
    {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(Exit)), METH_FASTCALL,
     "Closes the operation; never swallows an exception."},
    {"__reduce__", reinterpret_cast<PyCFunction>(Reduce), METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {{const_cast<char*>("name"), T_OBJECT, offsetof(Operation, name), READONLY,
                          const_cast<char*>("What the report calls it.")},
                         {nullptr, 0, 0, 0, nullptr}};

const char kDoc[] =
    "operation(name)\n--\n\n"
    "A named part of the program: a row of the report. Use it as a context manager or decorator.\n"
    "\n"
    "    with crosscut.operation(\"forward\"): ...\n"
    "    @crosscut.operation(\"env.step\")\n"
    "    def step(...): ...\n"
    "\n"
    "Operations of one thread nest. Functions, coroutines, generators and asynchronous generators\n"
    "can be decorated; of the latter three each slice between two suspensions is an event of its\n"
    "own, so that what runs meanwhile is not taken for theirs. Without a session it costs some\n"
    "nanoseconds. From any thread. A name that is no str reads as str() of it. Raises only\n"
    "TypeError: for another number of arguments, and where it decorates what is no function.";

PyTypeObject MakeType() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = "crosscut.operation";
  type.tp_basicsize = sizeof(Operation);
  type.tp_dealloc = reinterpret_cast<destructor>(OperationDealloc);
  type.tp_repr = reinterpret_cast<reprfunc>(Repr);
  type.tp_call = Call;
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_doc = kDoc;
  type.tp_methods = methods;
  type.tp_members = members;
  type.tp_new = OperationNew;
  type.tp_vectorcall = OperationVectorcall;
  return type;
}
PyTypeObject operation_type = MakeType();

}  // namespace

int AddOperationType(PyObject* module) {
  if (!shared.Make() || PyType_Ready(&operation_type) != 0) return -1;
  Py_INCREF(&operation_type);
  return PyModule_AddObject(module, "operation", reinterpret_cast<PyObject*>(&operation_type));
}

PyObject* MakeSpan(PyObject* name, int layer) {
  return MakeUnshared(&operation_type, name, NameId(name, CROSSCUT_SPAN, layer, CROSSCUT_CROSSES));
}

PyObject* MakeFound(PyObject* name) {
  return MakeUnshared(
      &operation_type, name,
      NameId(name, CROSSCUT_OPERATION, CROSSCUT_LAYER_NONE, CROSSCUT_FOUND | CROSSCUT_CROSSES));
}

uint32_t NameIdOf(PyObject* operation) {
  if (Py_TYPE(operation) == &operation_type) return reinterpret_cast<Operation*>(operation)->id;
  PyErr_Format(PyExc_TypeError, "an operation or span is needed, not %.100s",
               Py_TYPE(operation)->tp_name);
  return 0;
}

void SetDecorator(PyObject* callable) {
  Py_INCREF(callable);
  decorator.Set(callable);
}

uint32_t OperationProbe() {
  static const uint32_t probe =
      crosscut_intern("operation (Python)", SIZE_MAX, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  return probe;
}

PyObject* AsText(PyObject* object) {
  if (PyUnicode_CheckExact(object)) {
    Py_INCREF(object);
    return object;
  }
  PyObject* text = PyUnicode_Check(object) ? PyUnicode_FromObject(object) : PyObject_Str(object);
  if (text == nullptr && PyErr_ExceptionMatches(PyExc_Exception)) {
    PyErr_Clear();
    return PyUnicode_FromString("(unnamed)");
  }
  if (text == nullptr || PyUnicode_CheckExact(text)) return text;
  PyObject* plain = PyUnicode_FromObject(text);  // __str__ gave a subclass's
  Py_DECREF(text);
  return plain;
}

PyObject* AsUtf8(PyObject* object) {
  PyObject* text = AsText(object);
  if (text == nullptr) return nullptr;
  if (PyUnicode_FindChar(text, 0, 0, PyUnicode_GET_LENGTH(text), 1) >= 0) {
    PyObject *nul = PyUnicode_FromOrdinal(0), *mark = PyUnicode_FromOrdinal('?');
    PyObject* clean =
        nul == nullptr || mark == nullptr ? nullptr : PyUnicode_Replace(text, nul, mark, -1);
    Py_XDECREF(nul);
    Py_XDECREF(mark);
    Py_DECREF(text);
    if ((text = clean) == nullptr) return nullptr;
  }
  PyObject* bytes = PyUnicode_AsEncodedString(text, "utf-8", "replace");
  Py_DECREF(text);
  return bytes;
}

uint32_t NameId(PyObject* text, int kind, int layer, unsigned flags) {
  const uint32_t probe = kind == CROSSCUT_OPERATION ? OperationProbe() : 0;
  PyObject* bytes = AsUtf8(text);
  if (bytes == nullptr) return 0;
  const uint32_t id = crosscut_intern(
      PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes)),
      static_cast<crosscut_kind>(kind), static_cast<crosscut_layer>(layer), flags, probe);
  Py_DECREF(bytes);
  return id;
}

}  // namespace crosscut::python
