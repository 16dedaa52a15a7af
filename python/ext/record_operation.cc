#include "python/ext/record_operation.h"

#include <structmember.h>

#include <cstdlib>
#include <mutex>
#include <new>

#include "crosscut/crosscut.h"

namespace crosscut::python {
namespace {

// Objects of one name are one object: they hold no state of a scope, so `operation("x")` in a loop
// is a dict lookup. A program with endless different names gets unshared objects beyond this.
constexpr Py_ssize_t kSharedOperations = 4096;

struct Operation {
  PyObject_HEAD PyObject* name;
  uint32_t id;
};

struct Open {
  uint32_t name;
  bool abandoned;  // another thread has closed it: ends when it is innermost here
};

struct OpenStack {
  OpenStack* next = nullptr;
  uint32_t depth = 0;
  uint32_t capacity = 0;
  uint32_t abandoned = 0;
  uint32_t generation = 0;
  Open* open = nullptr;
};

// A pointer only: small enough for the static TLS block that dlopen may use.
__thread OpenStack* this_stack __attribute__((tls_model("initial-exec"))) = nullptr;

uint32_t generation = 1;     // changes when everything open becomes void
PyObject* shared = nullptr;  // str -> Operation
PyObject* decorator = nullptr;

struct Threads {
  std::mutex mutex;
  OpenStack* first = nullptr;
};
Threads& AllThreads() {
  static Threads* threads = new Threads;  // outlives every thread
  return *threads;
}

void Remove(OpenStack* stack) {
  Threads& threads = AllThreads();
  std::lock_guard lock(threads.mutex);
  for (OpenStack** at = &threads.first; *at != nullptr; at = &(*at)->next) {
    if (*at == stack) {
      *at = stack->next;
      break;
    }
  }
}

// Frees the thread's stack when the thread ends (without the GIL).
struct ThreadEnd {
  OpenStack* stack = nullptr;
  ~ThreadEnd() {
    if (stack == nullptr) return;
    Remove(stack);
    this_stack = nullptr;
    free(stack->open);
    delete stack;
  }
};
thread_local ThreadEnd thread_end;

// `python`: the thread runs the program's Python.
OpenStack* MakeStack(bool python) {
  auto* stack = new (std::nothrow) OpenStack;
  if (stack == nullptr) return nullptr;
  stack->generation = generation;
  thread_end.stack = stack;
  this_stack = stack;
  Threads& threads = AllThreads();
  std::lock_guard lock(threads.mutex);
  stack->next = threads.first;
  threads.first = stack;
  if (python) crosscut_base(CROSSCUT_PYTHON);
  return stack;
}

bool Grow(OpenStack* stack) {
  const uint32_t capacity = stack->capacity == 0 ? 32 : stack->capacity * 2;
  auto* open = static_cast<Open*>(realloc(stack->open, capacity * sizeof(Open)));
  if (open == nullptr) return false;
  stack->open = open;
  stack->capacity = capacity;
  return true;
}

// Makes the stack fit for the fast path: nothing of an earlier session, nothing abandoned on top,
// room for one more. False without memory.
bool Settle(OpenStack* stack) {
  if (stack->generation != generation) {
    stack->generation = generation;
    stack->depth = stack->abandoned = 0;
  }
  while (stack->abandoned > 0 && stack->depth > 0 && stack->open[stack->depth - 1].abandoned) {
    --stack->abandoned;
    crosscut_end_named(stack->open[--stack->depth].name);
  }
  return stack->depth < stack->capacity || Grow(stack);
}

void AbandonElsewhere(uint32_t name) {
  Threads& threads = AllThreads();
  std::lock_guard lock(threads.mutex);
  for (OpenStack* stack = threads.first; stack != nullptr; stack = stack->next) {
    if (stack == this_stack || stack->generation != generation) continue;
    for (uint32_t i = stack->depth; i > 0; --i) {
      Open& open = stack->open[i - 1];
      if (open.name != name || open.abandoned) continue;
      open.abandoned = true;
      ++stack->abandoned;
      return;
    }
  }
}

// Not innermost, or not here, or something to settle first.
void CloseSlow(uint32_t name) {
  OpenStack* stack = this_stack;
  if (stack != nullptr) {
    Settle(stack);
    for (uint32_t i = stack->depth; i > 0; --i) {
      if (stack->open[i - 1].name != name || stack->open[i - 1].abandoned) continue;
      crosscut_end_named(name);
      for (uint32_t above = i; above < stack->depth; ++above) {
        if (stack->open[above].abandoned) --stack->abandoned;
      }
      stack->depth = i - 1;
      return;
    }
  }
  AbandonElsewhere(name);
}

PyObject* MakeUnshared(PyTypeObject* type, PyObject* name, uint32_t id) {
  if (id == 0 && PyErr_Occurred()) return nullptr;
  Operation* self = PyObject_New(Operation, type);
  if (self == nullptr) return nullptr;
  Py_INCREF(name);
  self->name = name;
  self->id = id;
  return reinterpret_cast<PyObject*>(self);
}

PyObject* NewOperation(PyTypeObject* type, PyObject* name) {
  PyObject* self = MakeUnshared(type, name, NameId(name, CROSSCUT_OPERATION, CROSSCUT_LAYER_NONE));
  if (self != nullptr && PyDict_GET_SIZE(shared) < kSharedOperations &&
      PyDict_SetItem(shared, name, self) != 0) {
    Py_DECREF(self);
    return nullptr;
  }
  return self;
}

PyObject* Decorate(PyObject* self, PyObject* function) {
  if (decorator == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "crosscut._record is used without the package crosscut");
    return nullptr;
  }
  return PyObject_CallFunctionObjArgs(decorator, self, function, nullptr);
}

// `@operation` without a name: the function's own qualified name.
PyObject* DecorateByName(PyTypeObject* type, PyObject* function) {
  PyObject* name = PyObject_GetAttrString(function, "__qualname__");
  if (name == nullptr || !PyUnicode_CheckExact(name)) {
    Py_XDECREF(name);
    PyErr_Format(PyExc_TypeError, "operation(): the name must be a str, not %.100s",
                 Py_TYPE(function)->tp_name);
    return nullptr;
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
    if (!PyUnicode_Check(name)) {
      PyErr_Format(PyExc_TypeError, "operation(): the name must be a str, not %.100s",
                   Py_TYPE(name)->tp_name);
      return nullptr;
    }
    PyObject* plain = PyUnicode_FromObject(name);
    if (plain == nullptr) return nullptr;
    PyObject* result = OperationFor(type, plain);
    Py_DECREF(plain);
    return result;
  }
  PyObject* known = PyDict_GetItemWithError(shared, name);
  if (known != nullptr) {
    Py_INCREF(known);
    return known;
  }
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
  EnterOperation(self->id);
  Py_INCREF(self);
  return reinterpret_cast<PyObject*>(self);
}

PyObject* Exit(Operation* self, PyObject* const*, Py_ssize_t) {
  ExitOperation(self->id);
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
    "nanoseconds. From any thread; raises only TypeError, for a name that is no str.";

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
  shared = PyDict_New();
  if (shared == nullptr || PyType_Ready(&operation_type) != 0) return -1;
  Py_INCREF(&operation_type);
  return PyModule_AddObject(module, "operation", reinterpret_cast<PyObject*>(&operation_type));
}

PyObject* MakeSpan(PyObject* name, int layer) {
  return MakeUnshared(&operation_type, name, NameId(name, CROSSCUT_SPAN, layer));
}

PyObject* MakeFound(PyObject* name) {
  return MakeUnshared(&operation_type, name,
                      NameId(name, CROSSCUT_OPERATION, CROSSCUT_LAYER_NONE, CROSSCUT_FOUND));
}

uint32_t NameIdOf(PyObject* operation) {
  if (Py_TYPE(operation) == &operation_type) return reinterpret_cast<Operation*>(operation)->id;
  PyErr_Format(PyExc_TypeError, "an operation or span is needed, not %.100s",
               Py_TYPE(operation)->tp_name);
  return 0;
}

void SetDecorator(PyObject* callable) {
  Py_INCREF(callable);
  Py_XDECREF(decorator);
  decorator = callable;
}

void OpenOperation(uint32_t name) {
  OpenStack* stack = this_stack;
  if (stack == nullptr && (stack = MakeStack(true)) == nullptr) return;
  if (stack->generation != generation || stack->abandoned != 0 || stack->depth == stack->capacity) {
    if (!Settle(stack)) return;
  }
  stack->open[stack->depth++] = {name, false};
  crosscut_begin_inline(name);
}

void CloseOperation(uint32_t name) {
  OpenStack* stack = this_stack;
  if (stack != nullptr && stack->depth != 0 && stack->abandoned == 0 &&
      stack->generation == generation && stack->open[stack->depth - 1].name == name) {
    --stack->depth;
    crosscut_end_named(name);
    return;
  }
  CloseSlow(name);
}

bool EnterOperation(uint32_t name) {
  if (crosscut_this_thread->enabled == 0) return false;
  OpenOperation(name);
  return true;
}

void ExitOperation(uint32_t name) {
  const OpenStack* stack = this_stack;
  if ((stack != nullptr && stack->depth != 0) || crosscut_this_thread->enabled != 0) {
    CloseOperation(name);
  }
}

bool IsOpen(uint32_t name) {
  const OpenStack* stack = this_stack;
  if (stack == nullptr || stack->generation != generation) return false;
  for (uint32_t i = stack->depth; i > 0; --i) {
    if (stack->open[i - 1].name == name && !stack->open[i - 1].abandoned) return true;
  }
  return false;
}

uint32_t OpenDepth() {
  const OpenStack* stack = this_stack;
  return stack != nullptr && stack->generation == generation ? stack->depth : 0;
}

void ForgetOpenOperations() { ++generation; }

void BeforeFork() { AllThreads().mutex.lock(); }
void AfterForkInParent() { AllThreads().mutex.unlock(); }

void AfterForkInChild() {
  Threads& threads = AllThreads();
  threads.first = this_stack;
  if (this_stack != nullptr) this_stack->next = nullptr;
  threads.mutex.unlock();
  ForgetOpenOperations();
  // The child's first event: where the recorder follows forks, it opens the child's own log.
  if (crosscut_recording()) {
    crosscut_instant(crosscut_intern("forked", SIZE_MAX, CROSSCUT_SPAN, CROSSCUT_LAYER_NONE, 0, 0));
    crosscut_base(CROSSCUT_PYTHON);
  }
}

void ThisThreadRunsPython() {
  if (this_stack == nullptr) MakeStack(true);
}

void ThisThreadIsOurs() {
  if (this_stack == nullptr) MakeStack(false);
}

uint32_t OperationProbe() {
  static const uint32_t probe =
      crosscut_intern("operation (Python)", SIZE_MAX, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  return probe;
}

uint32_t NameId(PyObject* text, int kind, int layer, unsigned flags) {
  if (!PyUnicode_Check(text)) {
    PyErr_Format(PyExc_TypeError, "a name must be a str, not %.100s", Py_TYPE(text)->tp_name);
    return 0;
  }
  const uint32_t probe = kind == CROSSCUT_OPERATION ? OperationProbe() : 0;
  // Surrogates do not encode: they are kept as '?', since a name must never raise in a program.
  PyObject* bytes = PyUnicode_AsEncodedString(text, "utf-8", "replace");
  if (bytes == nullptr) return 0;
  const uint32_t id = crosscut_intern(
      PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes)),
      static_cast<crosscut_kind>(kind), static_cast<crosscut_layer>(layer), flags, probe);
  Py_DECREF(bytes);
  return id;
}

}  // namespace crosscut::python
