#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "crosscut/crosscut.h"
#include "crosscut/in_python.h"
#include "crosscut/ref.h"
#include "python/ext/record_functions.h"
#include "python/ext/record_led_method.h"
#include "python/ext/record_module.h"
#include "python/ext/record_operation.h"
#include "python/ext/record_shared.h"
#include "python/ext/record_tasks.h"
#include "python/ext/record_unseen.h"

namespace crosscut::python {
namespace {

// In C since a function in Python would be a frame of the program's, and cost ten times as much.
struct Around {
  PyObject_HEAD PyObject* function;
  PyObject* led;     // a weak reference to the function whose calls come here, which has `function`
                     // then; null: none, or those of another around
  PyObject* before;  // null: nobody is asked
  PyObject* after;   // null: nobody is told
  PyObject* of;      // null: of any class
  PyObject* weak_references;
  const int32_t* on;     // null: always
  int32_t* (*inside)();  // null: calls may be inside another
  int32_t* (*word)();    // null: none
  uint32_t says;         // what that is as long as a call lasts
  uint32_t operation;    // 0: none, unless `before` says
  uint32_t span;         // 0: none
  uint32_t own;          // span around `before` and `after`; 0: none
  int nests;
  int always;
  int outermost;
  int makes;
  int retired;  // for good: a call is just a call
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

// A word of this thread's that is `value` as long as this lives; null: none.
class Word {
 public:
  Word(int32_t* (*of_thread)(), uint32_t value)
      : word_(of_thread == nullptr ? nullptr : of_thread()) {
    if (word_ != nullptr) before_ = std::exchange(*word_, static_cast<int32_t>(value));
  }
  ~Word() {
    if (word_ != nullptr) *word_ = before_;
  }
  Word(const Word&) = delete;
  Word& operator=(const Word&) = delete;

 private:
  int32_t* word_;
  int32_t before_ = 0;
};

// 1: a call is open on this thread, in the task that it runs, of which only the outermost is told.
thread_local int32_t told_of = 0;
int32_t* ToldOf() { return &told_of; }

bool IsOn(const Around* self) {
  return self->on == nullptr || __atomic_load_n(self->on, __ATOMIC_RELAXED) != 0;
}

// Whether a call is more than a call of the function.
bool Concerns(const Around* self) {
  if (__atomic_load_n(&self->retired, __ATOMIC_RELAXED) != 0) return false;
  const bool wanted = IsOn(self) || self->always != 0 || (self->outermost != 0 && told_of == 0);
  return wanted && (self->inside == nullptr || *self->inside() == 0);
}

// Whether the call is of a thing of the class. The program's code would be asked what it is an
// instance of.
bool IsWanted(const Around* self, PyObject* first) {
  return self->of == nullptr ||
         PyType_IsSubtype(Py_TYPE(first), reinterpret_cast<PyTypeObject*>(self->of)) != 0;
}

// Of our own code, on whose time the program has no claim; name 0: none.
class Own {
 public:
  explicit Own(const Around* self) : name_(self->own) {
    if (name_ != 0) crosscut_begin_inline(name_);
  }
  ~Own() {
    if (name_ != 0) crosscut_end_named(name_);
  }
  Own(const Own&) = delete;
  Own& operator=(const Own&) = delete;

 private:
  uint32_t name_;
  Unseen unseen_;
};

// What `before` answers, asked by `ask`: a new reference; None: the call is just a call. Null with
// an exception of the program's.
template <class Asking>
PyObject* Ask(const Around* self, Asking ask) {
  if (self->before == nullptr) Py_RETURN_TRUE;
  const Own own(self);
  return OursOrNone(self->before, ask(self->before));
}

// Tells of a call that is over: the result that the caller gets.
PyObject* Tell(const Around* self, PyObject* first, PyObject* result) {
  Ref theirs(result), answer;
  PendingException kept;
  {
    const Own own(self);
    PyObject* args[] = {first, result == nullptr ? Py_None : result,
                        result == nullptr ? Py_True : Py_False};
    answer = Ref(OursOrNone(self->after, PyObject_Vectorcall(self->after, args, 3, nullptr)));
  }
  if (!answer) {  // the program is interrupted
    kept.Leave();
    return nullptr;
  }
  return result == nullptr || answer.get() == Py_None ? theirs.release() : answer.release();
}

// A call that makes a task and may run that already, up to where it first waits.
template <class Call>
PyObject* InNewTask(Call call) {
  const Outer outer = EnterNewTask();
  PyObject* task = call();
  const PendingException kept;
  LeaveTask(task != nullptr ? task : Py_None, outer);
  return task;
}

template <class Call>
PyObject* InScopes(Around* self, PyObject* chosen, Call call) {
  const bool on = IsOn(self);
  const uint32_t name = chosen != Py_True ? NameIdOf(chosen) : self->operation;
  if (name == 0) PyErr_Clear();
  const Word inside(self->inside, 1), word(on ? self->word : nullptr, self->says);
  const Scope operation(name, on && name != 0 && (self->nests != 0 || !IsOpen(name)));
  const Scope span(self->span, on && self->span != 0);
  return self->makes != 0 ? InNewTask(call) : call();
}

// A call that Concerns() us, of which `first` is the first argument.
template <class Asking, class Call>
PyObject* Surround(Around* self, PyObject* first, Asking ask, Call call) {
  const bool told =
      self->after != nullptr && (self->always != 0 || self->outermost != 0 || IsOn(self));
  const Ref chosen(Ask(self, ask));
  if (!chosen) return nullptr;
  if (chosen.get() == Py_None) return call();
  PyObject* result;
  {
    const Word outermost(self->outermost != 0 ? &ToldOf : nullptr, 1);
    result = InScopes(self, chosen.get(), call);
  }
  if (told && (self->outermost == 0 || told_of == 0)) result = Tell(self, first, result);
  return result;
}

PyObject* AroundVectorcall(PyObject* object, PyObject* const* args, size_t flags,
                           PyObject* keywords) {
  auto* self = reinterpret_cast<Around*>(object);
  if (self->function == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "a function is called after it was collected");
    return nullptr;
  }
  PyObject* const function = self->function;
  const auto call = [&] { return PyObject_Vectorcall(function, args, flags, keywords); };
  if (!Concerns(self)) return call();
  const auto ask = [&](PyObject* before) {
    return PyObject_Vectorcall(before, args, flags, keywords);
  };
  PyObject* first = PyVectorcall_NARGS(flags) > 0 ? args[0] : Py_None;
  if (!IsWanted(self, first)) return call();
  // The call may replace this object in its class.
  const Ref kept = Ref::Borrow(object), kept_function = Ref::Borrow(function);
  return Surround(self, first, ask, call);
}

// What `named`, an operation or span or None, is called. False with an exception for others.
bool NameOf(PyObject* named, uint32_t* name) {
  *name = named == Py_None ? 0 : NameIdOf(named);
  return *name != 0 || named == Py_None;
}

PyObject* Callable(PyObject* callable) {
  return Ref::Borrow(callable == Py_None ? nullptr : callable).release();
}

PyObject* AroundNew(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* const names[] = {"function", "operation", "on",    "span",   "before",
                                      "after",    "inside",    "nests", "always", "outermost",
                                      "makes",    "word",      "says",  "own",    nullptr};
  PyObject *function, *operation = Py_None, *span = Py_None, *before = Py_None, *after = Py_None;
  PyObject* own = Py_None;
  unsigned long long on = 0, inside = 0, word = 0;
  Around made = {};
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OKOOOKppppKIO:around",
                                   const_cast<char**>(names), &function, &operation, &on, &span,
                                   &before, &after, &inside, &made.nests, &made.always,
                                   &made.outermost, &made.makes, &word, &made.says, &own) ||
      !NameOf(operation, &made.operation) || !NameOf(span, &made.span) || !NameOf(own, &made.own)) {
    return nullptr;
  }
  for (PyObject* callable : {function, before, after}) {
    if (PyCallable_Check(callable) || (callable == Py_None && callable != function)) continue;
    PyErr_SetString(PyExc_TypeError, "around(): function, before and after must be callable");
    return nullptr;
  }
  auto* self = reinterpret_cast<Around*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  made.ob_base = self->ob_base;
  *self = made;
  self->function = Callable(function);
  self->before = Callable(before);
  self->after = Callable(after);
  self->on = reinterpret_cast<const int32_t*>(static_cast<uintptr_t>(on));
  self->inside = reinterpret_cast<int32_t* (*)()>(static_cast<uintptr_t>(inside));
  self->word = reinterpret_cast<int32_t* (*)()>(static_cast<uintptr_t>(word));
  self->vectorcall = AroundVectorcall;
  return reinterpret_cast<PyObject*>(self);
}

int Traverse(Around* self, visitproc visit, void* arg) {
  Py_VISIT(self->function);
  Py_VISIT(self->led);
  Py_VISIT(self->before);
  Py_VISIT(self->after);
  Py_VISIT(self->of);
  return 0;
}

int Clear(Around* self) {
  Py_CLEAR(self->function);
  Py_CLEAR(self->led);
  Py_CLEAR(self->before);
  Py_CLEAR(self->after);
  Py_CLEAR(self->of);
  return 0;
}

void Dealloc(Around* self) {
  PyObject_GC_UnTrack(self);
  if (self->weak_references != nullptr) PyObject_ClearWeakRefs(reinterpret_cast<PyObject*>(self));
  Clear(self);
  Py_TYPE(self)->tp_free(self);
}

// As a function's: in a class for what is bound to an instance, else itself.
PyObject* Get(PyObject* object, PyObject* instance, PyObject*) {
  if (instance != nullptr && instance != Py_None) return PyMethod_New(object, instance);
  return Ref::Borrow(object).release();
}

// Copied and pickled as a function is, by the place that it stands in.
PyObject* Reduce(Around* self, PyObject*) {
  PyObject* function = self->function != nullptr ? self->function : Py_None;
  return PyObject_GetAttrString(function, "__qualname__");
}

PyObject* Retire(Around* self, PyObject*) {
  __atomic_store_n(&self->retired, 1, __ATOMIC_RELAXED);
  Py_RETURN_NONE;
}

PyObject* Limit(Around* self, PyObject* cls) {
  if (!PyType_Check(cls)) {
    PyErr_SetString(PyExc_TypeError, "around.limit(): needs a class");
    return nullptr;
  }
  Py_INCREF(cls);
  Py_XSETREF(self->of, cls);
  Py_RETURN_NONE;
}

// A function of Python that torch.compile may read ours as. Its guards read what others have by the
// layout of a function.
bool IsPlain(PyObject* function) {
  return PyFunction_Check(function) && PyFunction_GET_CLOSURE(function) == nullptr &&
         PyFunction_GET_DEFAULTS(function) == nullptr &&
         PyFunction_GET_KW_DEFAULTS(function) == nullptr;
}

// What is asked of us (`__name__`, `__code__`, a decorator's mark) is the function's to answer.
// Ours is only what makes us called.
bool IsOurs(PyObject* function, PyObject* name) {
  static const char* const ours[] = {"__get__", "__call__", "__reduce_ex__", "__reduce__"};
  for (const char* text : ours) {
    if (PyUnicode_CompareWithASCIIString(name, text) == 0) return true;
  }
  return PyUnicode_CompareWithASCIIString(name, "__class__") == 0 && !IsPlain(function);
}

PyObject* GetAttribute(PyObject* object, PyObject* name) {
  auto* self = reinterpret_cast<Around*>(object);
  if (self->function == nullptr || IsOurs(self->function, name))
    return PyObject_GenericGetAttr(object, name);
  return PyObject_GetAttr(self->function, name);
}

int SetAttribute(PyObject* object, PyObject* name, PyObject* value) {
  auto* self = reinterpret_cast<Around*>(object);
  if (self->function == nullptr) return PyObject_GenericSetAttr(object, name, value);
  return PyObject_SetAttr(self->function, name, value);
}

PyObject* Repr(PyObject* object) {
  auto* self = reinterpret_cast<Around*>(object);
  return PyObject_Repr(self->function != nullptr ? self->function : Py_None);
}

PyMethodDef methods[] = {
    {"__reduce__", reinterpret_cast<PyCFunction>(Reduce), METH_NOARGS, nullptr},
    {"retire", reinterpret_cast<PyCFunction>(Retire), METH_NOARGS, nullptr},
    {"limit", reinterpret_cast<PyCFunction>(Limit), METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {
    {const_cast<char*>("function"), T_OBJECT, offsetof(Around, function), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

const char kDoc[] =
    "around(function, operation=None, on=0, span=None, before=None, after=None, inside=0,\n"
    "       nests=False, always=False, outermost=False, makes=False, word=0,\n"
    "       says=0, own=None)\n--\n\n"
    "Calls of `function` come here (lead_calls()), or it stands for it in a module or a class; it\n"
    "adds no frame. While the int32 at the address `on` is not 0 (0: always) a call is the\n"
    "operation, unless it `nests` not and one of that name is open on the thread, and in it the\n"
    "span (of span()).\n"
    "\n"
    "inside     address of a function that gives the address of this thread's int32: not 0, a "
    "call\n"
    "           is just a call of the function; it is 1 as long as one lasts.\n"
    "before     is called with the first argument (None: there is none). It answers with None "
    "(this\n"
    "           is just a call of the function), True, or an operation in place of `operation`.\n"
    "after      is called behind it with the first argument, the result, and whether it raised; "
    "what\n"
    "           it answers, if not None, is the result.\n"
    "always     tells `after` of calls that are not recorded, too; `outermost` also, but only of "
    "the\n"
    "           outermost call on a thread of all those that have it.\n"
    "makes      the call makes a task of asyncio's, and may run it.\n"
    "word       such an address, too: that int32 is `says` as long as a call lasts.\n"
    "own        a span of layer overhead, around `before` and `after`: what they take is told as\n"
    "           Crosscut's.\n"
    "\n"
    "Both are called unseen. Who asks this object for something is answered by `function`, which\n"
    "around.function.__get__(object) gives. around.retire(object): its calls are just calls from\n"
    "then on, but for those that have begun. around.limit(object, cls): so are those whose first\n"
    "argument is of another class.";

PyTypeObject MakeType() {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  // torch.compile binds no methods of C but those it knows by this name, which stands for us, too.
  type.tp_name = "crosscut._record.cython_function_or_method";
  type.tp_basicsize = sizeof(Around);
  type.tp_dealloc = reinterpret_cast<destructor>(Dealloc);
  type.tp_vectorcall_offset = offsetof(Around, vectorcall);
  type.tp_weaklistoffset = offsetof(Around, weak_references);
  type.tp_call = PyVectorcall_Call;
  type.tp_repr = Repr;
  type.tp_getattro = GetAttribute;
  type.tp_setattro = SetAttribute;
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_METHOD_DESCRIPTOR |
                  Py_TPFLAGS_HAVE_VECTORCALL;
  type.tp_doc = kDoc;
  type.tp_traverse = reinterpret_cast<traverseproc>(Traverse);
  type.tp_clear = reinterpret_cast<inquiry>(Clear);
  type.tp_methods = methods;
  type.tp_members = members;
  type.tp_descr_get = Get;
  type.tp_new = AroundNew;
  return type;
}
PyTypeObject around_type = MakeType();

bool IsAround(PyObject* object) { return object != nullptr && Py_IS_TYPE(object, &around_type); }

// Of `outer` and the arounds that it calls: the one that calls a function, or one that is led.
Around* InnermostOf(PyObject* outer) {
  auto* around = reinterpret_cast<Around*>(outer);
  while (around->led == nullptr && IsAround(around->function)) {
    around = reinterpret_cast<Around*>(around->function);
  }
  return around;
}

// Takes `outer` out of those that calls of `function` go through one after the other.
void TakeOut(PyObject* function, PyObject* outer, PyObject* next) {
  PyObject* at = LedTo(function);
  if (at == outer && !IsAround(next)) return UnleadFunction(function);
  if (at == outer) {
    Py_XDECREF(LeadFunction(function, next));
    return;
  }
  while (IsAround(at)) {
    Around* inner = InnermostOf(at);
    at = inner->function;
    if (at != outer) continue;
    Py_INCREF(next);
    Py_SETREF(inner->function, next);
    return;
  }
}

// ---- A method of C ----

LedMethod diverted;
SharedRef diverted_by;  // an Around, or none

PyObject* Diverted(PyObject* object, PyObject* args, PyObject* keywords) {
  const auto function = diverted.Theirs<PyCFunctionWithKeywords>();
  const auto call = [&] { return function(object, args, keywords); };
  const Ref by = diverted_by.Get();
  auto* around = reinterpret_cast<Around*>(by.get());
  const auto ask = [&](PyObject* before) {
    return PyObject_CallFunctionObjArgs(before, object, nullptr);
  };
  return by && Concerns(around) ? Surround(around, object, ask, call) : call();
}

}  // namespace

PyObject* LeadCalls(PyObject*, PyObject* outer) {
  Around* inner = IsAround(outer) ? InnermostOf(outer) : nullptr;
  if (inner == nullptr) Py_RETURN_FALSE;
  if (inner->led != nullptr) Py_RETURN_TRUE;
  Ref next(LeadFunction(inner->function, outer));
  if (!next && PyErr_Occurred() != nullptr) return nullptr;
  if (!next) Py_RETURN_FALSE;
  inner->led = PyWeakref_NewRef(inner->function, nullptr);
  if (inner->led == nullptr) {
    UnleadFunction(inner->function);
    return nullptr;
  }
  Py_SETREF(inner->function, next.release());
  Py_RETURN_TRUE;
}

PyObject* UnleadCalls(PyObject*, PyObject* outer) {
  Around* inner = IsAround(outer) ? InnermostOf(outer) : nullptr;
  Ref led = Referent(inner == nullptr ? nullptr : inner->led);
  if (!led) Py_RETURN_NONE;  // or it is gone
  const Ref kept = Ref::Borrow(outer), next = Ref::Borrow(inner->function);
  TakeOut(led.get(), outer, next.get());
  Py_CLEAR(inner->led);
  Py_SETREF(inner->function, led.release());
  Py_RETURN_NONE;
}

PyObject* Divert(PyObject*, PyObject* args) {
  PyObject *descriptor, *around;
  if (!PyArg_ParseTuple(args, "OO:divert", &descriptor, &around)) return nullptr;
  if (!Py_IS_TYPE(descriptor, &PyMethodDescr_Type) ||
      (around != Py_None && !Py_IS_TYPE(around, &around_type)) ||
      !diverted.Lead(&reinterpret_cast<PyMethodDescrObject*>(descriptor)->d_method,
                     METH_VARARGS | METH_KEYWORDS, Function(Diverted))) {
    Py_RETURN_FALSE;
  }
  diverted_by.Set(around);
  Py_RETURN_TRUE;
}

void ForgetOutermost() { told_of = 0; }

int AddAroundType(PyObject* module) {
  if (PyType_Ready(&around_type) != 0 || AddFunctionTypes() != 0) return -1;
  crosscut_task_local(&ToldOf);
  return PyModule_AddObjectRef(module, "around", reinterpret_cast<PyObject*>(&around_type));
}

}  // namespace crosscut::python
