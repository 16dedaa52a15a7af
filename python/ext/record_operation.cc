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
  Ref self(MakeUnshared(type, name,
                        NameId(name, CROSSCUT_OPERATION, CROSSCUT_LAYER_NONE, CROSSCUT_CROSSES)));
  const bool shares = self && shared.size() < kSharedOperations;
  return shares && !shared.Set(name, self.get()) ? nullptr : self.release();
}

PyObject* Decorate(PyObject* self, PyObject* function) {
  const Ref decorate = decorator.Get();
  if (!decorate) {
    PyErr_SetString(PyExc_RuntimeError, "crosscut._record is used without the package crosscut");
    return nullptr;
  }
  return PyObject_CallFunctionObjArgs(decorate.get(), self, function, nullptr);
}

// `@operation` without a name: the function's own qualified name, or its type's.
PyObject* DecorateByName(PyTypeObject* type, PyObject* function) {
  Ref name(PyObject_GetAttrString(function, "__qualname__"));
  if (!name || !PyUnicode_CheckExact(name.get())) {  // a partial, a callable object
    PyErr_Clear();
    name = Ref(PyUnicode_FromString(Py_TYPE(function)->tp_name));
  }
  const Ref self(name ? NewOperation(type, name.get()) : nullptr);
  return self ? Decorate(self.get(), function) : nullptr;
}

PyObject* OperationFor(PyTypeObject* type, PyObject* name) {
  if (!PyUnicode_CheckExact(name)) {
    if (PyCallable_Check(name)) return DecorateByName(type, name);
    const Ref plain = AsText(name);
    return plain ? OperationFor(type, plain.get()) : nullptr;
  }
  if (Ref known = shared.Get(name)) return known.release();
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
    {"__exit__", Function(Exit), METH_FASTCALL,
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
  return shared.Make() ? PyModule_AddType(module, &operation_type) : -1;
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

PyObject* SetDecorator(PyObject*, PyObject* callable) {
  decorator.Set(callable);
  Py_RETURN_NONE;
}

uint32_t OperationProbe() {
  static const uint32_t probe =
      crosscut_intern("operation (Python)", SIZE_MAX, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  return probe;
}

Ref AsText(PyObject* object) {
  if (PyUnicode_CheckExact(object)) return Ref::Borrow(object);
  Ref text(PyUnicode_Check(object) ? PyUnicode_FromObject(object) : PyObject_Str(object));
  if (!text && PyErr_ExceptionMatches(PyExc_Exception)) {
    PyErr_Clear();
    return Ref(PyUnicode_FromString("(unnamed)"));
  }
  if (!text || PyUnicode_CheckExact(text.get())) return text;
  return Ref(PyUnicode_FromObject(text.get()));  // __str__ gave a subclass's
}

Ref AsUtf8(PyObject* object) {
  Ref text = AsText(object);
  if (!text) return text;
  if (PyUnicode_FindChar(text.get(), 0, 0, PyUnicode_GET_LENGTH(text.get()), 1) >= 0) {
    const Ref nul(PyUnicode_FromOrdinal(0)), mark(PyUnicode_FromOrdinal('?'));
    text = Ref(nul && mark ? PyUnicode_Replace(text.get(), nul.get(), mark.get(), -1) : nullptr);
    if (!text) return text;
  }
  return Ref(PyUnicode_AsEncodedString(text.get(), "utf-8", "replace"));
}

uint32_t NameId(PyObject* text, int kind, int layer, unsigned flags) {
  const uint32_t probe = kind == CROSSCUT_OPERATION ? OperationProbe() : 0;
  const Ref bytes = AsUtf8(text);
  if (!bytes) return 0;
  return crosscut_intern(
      PyBytes_AS_STRING(bytes.get()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.get())),
      static_cast<crosscut_kind>(kind), static_cast<crosscut_layer>(layer), flags, probe);
}

uint32_t NameIds::Of(PyObject* name) {
  const Ref text = AsText(name);
  const Ref known = text ? ids_.Get(text.get()) : Ref();
  if (known) return static_cast<uint32_t>(PyLong_AsUnsignedLong(known.get()));
  if (PyErr_Occurred() != nullptr) return 0;
  const uint32_t id = NameId(text.get(), kind_, CROSSCUT_LAYER_NONE, flags_);
  if (id == 0) return 0;
  const Ref number(PyLong_FromUnsignedLong(id));
  if (!number || !ids_.Set(text.get(), number.get())) PyErr_Clear();
  return id;
}

}  // namespace crosscut::python
