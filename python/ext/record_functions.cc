#include "python/ext/record_functions.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "crosscut/in_python.h"
#include "crosscut/ref.h"
#include "python/ext/record_shared.h"

#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000
#define CROSSCUT_LEADS_BY_CODE
#include <opcode.h>

#include <vector>

#include "crosscut/frame.h"
#endif

namespace crosscut::python {
namespace {

// Of a function that is led. Itself it is called as the function was. The function has it, and it
// not the function, which lives as long as the program has it.
struct Led {
  PyObject_HEAD PyObject* function;  // a weak reference
  PyObject* to;
#ifdef CROSSCUT_LEADS_BY_CODE
  PyObject* code;      // the function's own
  PyObject* own;       // the function, which lives as long as calls of it run
  Py_ssize_t running;  // so many
#endif
  vectorcallfunc vectorcall;
};

int TraverseLed(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<Led*>(object)->to);
  return 0;
}

int ClearLed(PyObject* object) {
  Py_CLEAR(reinterpret_cast<Led*>(object)->to);
  return 0;
}

void DeallocLed(PyObject* object) {
  auto* led = reinterpret_cast<Led*>(object);
  PyObject_GC_UnTrack(object);
  ClearLed(object);
  Py_XDECREF(led->function);
#ifdef CROSSCUT_LEADS_BY_CODE
  Py_XDECREF(led->code);
#endif
  PyObject_GC_Del(object);
}

PyTypeObject MakeType(const char* name, size_t size, destructor dealloc, size_t vectorcall) {
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
  type.tp_name = name;
  type.tp_basicsize = static_cast<Py_ssize_t>(size);
  type.tp_dealloc = dealloc;
  type.tp_vectorcall_offset = static_cast<Py_ssize_t>(vectorcall);
  type.tp_call = vectorcall != 0 ? PyVectorcall_Call : nullptr;
  type.tp_flags = Py_TPFLAGS_DEFAULT | (vectorcall != 0 ? Py_TPFLAGS_HAVE_VECTORCALL : 0);
  return type;
}

PyTypeObject MakeLedType() {
  PyTypeObject type =
      MakeType("crosscut._record.led", sizeof(Led), DeallocLed, offsetof(Led, vectorcall));
  type.tp_flags |= Py_TPFLAGS_HAVE_GC;
  type.tp_traverse = TraverseLed;
  type.tp_clear = ClearLed;
  return type;
}
PyTypeObject led_type = MakeLedType();

// The function; null with an exception.
Ref FunctionOf(const Led* led) {
  Ref function = Referent(led->function);
  if (!function) {
    PyErr_SetString(PyExc_RuntimeError, "a function is called after it was collected");
  }
  return function;
}

#ifdef CROSSCUT_LEADS_BY_CODE

// CPython 3.11 runs a function's code without asking the function how. A led function has code that
// takes the same arguments and calls the door, which does the rest. Before its RESUME a frame
// counts as one that has not begun, and no traceback, no sys._getframe() and no tracer sees it: the
// RESUME of this code is its last instruction, which is not run. Who asks for the function's code
// gets its own.

// Where that code is from. torch.compile goes past code of such a file, and into what it calls;
// samples leave it out (plugins/samples/code_table.cc).
constexpr char kFile[] = "<frozen importlib of crosscut>";

using Frame = _PyInterpreterFrame;  // behind the arguments: a place for what ends Traced

// A profiler hears of every function that returns, also of one of which it has not heard that it
// began. Nobody is told of anything until this object is destroyed, with the frame that holds it.
void LeaveTracing(PyObject* silence) {
  PyObject_Free(silence);
  PyThreadState_LeaveTracing(PyThreadState_Get());
}
PyTypeObject silence_type = MakeType("crosscut._record.silence", sizeof(PyObject), LeaveTracing, 0);

Py_ssize_t Arguments(const PyCodeObject* code) {
  return code->co_argcount + code->co_kwonlyargcount + ((code->co_flags & CO_VARARGS) != 0) +
         ((code->co_flags & CO_VARKEYWORDS) != 0);
}

// A call with all that the frame has for arguments, which the interpreter has sorted.
PyObject* CallSorted(PyObject* to, const PyCodeObject* code, PyObject* const* fast) {
  const int positional = code->co_argcount, named = code->co_kwonlyargcount;
  const bool more = (code->co_flags & CO_VARARGS) != 0;
  const bool others = (code->co_flags & CO_VARKEYWORDS) != 0;
  if (named == 0 && !more && !others) {
    return PyObject_Vectorcall(to, fast, static_cast<size_t>(positional), nullptr);
  }
  std::vector<PyObject*> all(fast, fast + positional);
  PyObject* const* after = fast + positional + named;
  if (more) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(*after); ++i) {
      all.push_back(PyTuple_GET_ITEM(*after, i));
    }
    ++after;
  }
  const size_t count = all.size();
  const Py_ssize_t keywords = named + (others ? PyDict_GET_SIZE(*after) : 0);
  const Ref names(keywords == 0 ? nullptr : PyTuple_New(keywords));
  if (keywords != 0 && !names) return nullptr;
  Py_ssize_t at = 0;
  const auto add = [&](PyObject* name, PyObject* value) {
    PyTuple_SET_ITEM(names.get(), at++, Ref::Borrow(name).release());
    all.push_back(value);
  };
  for (int i = positional; i < positional + named; ++i) {
    add(PyTuple_GET_ITEM(code->co_localsplusnames, i), fast[i]);
  }
  PyObject *name = nullptr, *value = nullptr;
  Py_ssize_t place = 0;
  while (others && PyDict_Next(*after, &place, &name, &value)) add(name, value);
  return PyObject_Vectorcall(to, all.data(), count, names.get());
}

struct DoorObject {
  PyObject_HEAD vectorcallfunc vectorcall;
};
extern DoorObject door;

// What code of ours leads; null: it is none.
Led* LedIn(const PyCodeObject* code) {
  PyObject* consts = code->co_consts;
  const bool ours = PyTuple_GET_SIZE(consts) == 2 &&
                    PyTuple_GET_ITEM(consts, 0) == reinterpret_cast<PyObject*>(&door);
  return ours ? reinterpret_cast<Led*>(PyTuple_GET_ITEM(consts, 1)) : nullptr;
}

// Called without arguments by the code of a led function, whose frame is the innermost.
PyObject* Door(PyObject*, PyObject* const*, size_t, PyObject*) {
  PyThreadState* const thread = PyThreadState_Get();
  auto* const frame = reinterpret_cast<Frame*>(thread->cframe->current_frame);
  const PyCodeObject* const code = frame == nullptr ? nullptr : frame->code;
  Led* const led = code == nullptr ? nullptr : LedIn(code);
  if (led == nullptr) {  // somebody found it
    PyErr_SetString(PyExc_RuntimeError, "this is called by the recorder alone");
    return nullptr;
  }
  PyObject* const to = led->to != nullptr ? led->to : reinterpret_cast<PyObject*>(led);
  Py_INCREF(to);
  // The frame is none of the program's: neither those that count frames nor those that walk them
  // (faulthandler, tracemalloc, samplers) find it.
  ++thread->recursion_remaining;
  thread->cframe->current_frame = frame->previous;
  const bool runs = reinterpret_cast<PyObject*>(frame->function) == led->own;
  led->running += runs;
  PyObject* result = CallSorted(to, code, frame->fast);
  led->running -= runs;
  thread->cframe->current_frame = frame;
  --thread->recursion_remaining;
  Py_DECREF(to);
  const Py_ssize_t count = Arguments(code);
  for (Py_ssize_t i = 0; i < count; ++i) Py_CLEAR(frame->fast[i]);
  if (thread->cframe->use_tracing != 0) {
    PyObject* silence = reinterpret_cast<PyObject*>(PyObject_New(PyObject, &silence_type));
    if (silence == nullptr) {
      PyErr_Clear();
      return result;
    }
    frame->fast[count] = silence;
    PyThreadState_EnterTracing(thread);
  }
  return result;
}

PyTypeObject door_type = MakeType("crosscut._record.door", sizeof(DoorObject), nullptr,
                                  offsetof(DoorObject, vectorcall));
DoorObject door = {PyObject_HEAD_INIT(&door_type) Door};

template <class T>
void Share(T** place, T* with) {
  if (*place == with) return;
  Py_XINCREF(with);
  T* const before = *place;
  *place = with;
  Py_XDECREF(before);
}

// The function with its own code, as it is now. For one call: it owns all that its frame uses.
PyObject* MakeTwin(PyFunctionObject* function, PyObject* code) {
  auto* twin = PyObject_GC_New(PyFunctionObject, &PyFunction_Type);
  if (twin == nullptr) return nullptr;
  const PyObject head = twin->ob_base;
  *twin = *function;
  twin->ob_base = head;
  twin->func_code = code;
  twin->func_dict = twin->func_weakreflist = nullptr;
  twin->func_version = 0;
  for (PyObject* shared :
       {twin->func_globals, twin->func_builtins, twin->func_name, twin->func_qualname, code,
        twin->func_defaults, twin->func_kwdefaults, twin->func_closure, twin->func_doc,
        twin->func_module, twin->func_annotations}) {
    Py_XINCREF(shared);
  }
  PyObject_GC_Track(twin);
  return reinterpret_cast<PyObject*>(twin);
}

PyObject* CallPlainly(PyObject* object, PyObject* const* args, size_t flags, PyObject* keywords) {
  auto* led = reinterpret_cast<Led*>(object);
  // A finaliser may call one that is garbage, to which there are no weak references any more.
  const Ref function = led->running > 0 ? Ref::Borrow(led->own) : FunctionOf(led);
  if (!function) return nullptr;
  const Ref twin(MakeTwin(reinterpret_cast<PyFunctionObject*>(function.get()), led->code));
  return twin ? PyObject_Vectorcall(twin.get(), args, flags, keywords) : nullptr;
}

PyObject* MakeCode(PyCodeObject* own, Led* led) {
  const unsigned char text[] = {PUSH_NULL, 0, LOAD_CONST,   0, PRECALL, 0, CACHE, 0,
                                CALL,      0, CACHE,        0, CACHE,   0, CACHE, 0,
                                CACHE,     0, RETURN_VALUE, 0, RESUME,  0};
  const Py_ssize_t count = Arguments(own);
  const Ref names(PyTuple_New(count + 1));
  Ref last(PyUnicode_FromString(".0"));
  if (!names || !last) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* name = PyTuple_GET_ITEM(own->co_localsplusnames, i);
    PyTuple_SET_ITEM(names.get(), i, Ref::Borrow(name).release());
  }
  PyTuple_SET_ITEM(names.get(), count, last.release());
  const int flags = CO_OPTIMIZED | CO_NEWLOCALS | (own->co_flags & (CO_VARARGS | CO_VARKEYWORDS));
  const Ref changes(Py_BuildValue(
      "{s:y#,s:(OO),s:n,s:O,s:i,s:i,s:(),s:(),s:(),s:y,s:y,s:s}", "co_code", text,
      static_cast<Py_ssize_t>(sizeof text), "co_consts", &door, led, "co_nlocals", count + 1,
      "co_varnames", names.get(), "co_flags", flags, "co_stacksize", 2, "co_names", "co_freevars",
      "co_cellvars", "co_linetable", "", "co_exceptiontable", "", "co_filename", kFile));
  const Ref replace(PyObject_GetAttrString(reinterpret_cast<PyObject*>(own), "replace"));
  const Ref none(PyTuple_New(0));
  if (!changes || !replace || !none) return nullptr;
  return PyObject_Call(replace.get(), none.get(), changes.get());
}

Led* Find(PyObject* function) {
  return LedIn(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function)));
}

void SetCode(PyFunctionObject* function, PyObject* code) {
  Share(&function->func_code, code);
  function->func_version = 0;  // the interpreter forgets what it knows of its calls
}

bool Enter(PyObject* object, Led* led) {
  auto* const function = reinterpret_cast<PyFunctionObject*>(object);
  PyObject* const own = function->func_code;
  const Ref code(MakeCode(reinterpret_cast<PyCodeObject*>(own), led));
  if (!code) return false;
  Share(&led->code, own);
  led->own = object;
  SetCode(function, code.get());
  return true;
}

void Leave(PyObject* function, Led* led) {
  SetCode(reinterpret_cast<PyFunctionObject*>(function), led->code);
}

const PyGetSetDef* code_of_functions = nullptr;  // CPython's own

PyObject* GetCode(PyObject* function, void* closure) {
  PyObject* code = code_of_functions->get(function, closure);
  Led* led = code == nullptr ? nullptr : Find(function);
  if (led == nullptr) return code;
  Py_DECREF(code);
  Py_INCREF(led->code);
  return led->code;
}

int ChangeCode(PyObject* function, PyObject* code, void* closure) {
  Led* led = Find(function);
  if (led == nullptr) return code_of_functions->set(function, code, closure);
  const Ref kept = Ref::Borrow(reinterpret_cast<PyObject*>(led));
  Leave(function, led);
  const int problem = code_of_functions->set(function, code, closure);
  const PendingException pending;
  if (!Enter(function, led)) PyErr_Clear();
  return problem;
}

// Who asks a function for its code asks us, from now on. False with an exception.
bool AnswerForCode() {
  static PyGetSetDef ours = {};
  if (code_of_functions != nullptr) return true;
  PyObject* descriptor = PyDict_GetItemString(PyFunction_Type.tp_dict, "__code__");
  if (descriptor == nullptr || !Py_IS_TYPE(descriptor, &PyGetSetDescr_Type)) return false;
  auto* getset = reinterpret_cast<PyGetSetDescrObject*>(descriptor);
  ours = *getset->d_getset;
  ours.get = GetCode;
  ours.set = ChangeCode;
  code_of_functions = getset->d_getset;
  getset->d_getset = &ours;
  return true;
}

// As PyFunction_GetCode().
PyObject* CodeOf(PyObject* function) {
  Led* led = Py_IS_TYPE(function, &PyFunction_Type) ? Find(function) : nullptr;
  return led != nullptr ? led->code : PyFunction_GetCode(function);
}
constexpr auto kCodeOf = &CodeOf;

bool CanBeLed(PyObject* function) {
  const auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  return (code->co_flags & CO_OPTIMIZED) != 0 && AnswerForCode();
}

int ReadyTypes() {
  return PyType_Ready(&silence_type) != 0 || PyType_Ready(&door_type) != 0 ? -1 : 0;
}

#else

// The interpreter asks a function how it is to be called.

ByIdentity all_led;

Led* Find(PyObject* function) {
  // As long as the function is led it is there.
  return reinterpret_cast<Led*>(all_led.Get(function).get());
}

void SetVectorcall(PyFunctionObject* function, vectorcallfunc vectorcall) {
#if PY_VERSION_HEX >= 0x030c0000
  PyFunction_SetVectorcall(function, vectorcall);  // the interpreter forgets what it knows of calls
#else
  function->vectorcall = vectorcall;
#endif
}

vectorcallfunc plainly = nullptr;  // of all functions

PyObject* CallLed(PyObject* function, PyObject* const* args, size_t flags, PyObject* keywords) {
  Led* led = Find(function);
  if (led == nullptr) return plainly(function, args, flags, keywords);
  const Ref to = Ref::Borrow(led->to);
  return PyObject_Vectorcall(to.get(), args, flags, keywords);
}

PyObject* CallPlainly(PyObject* object, PyObject* const* args, size_t flags, PyObject* keywords) {
  const Ref function = FunctionOf(reinterpret_cast<Led*>(object));
  return function ? plainly(function.get(), args, flags, keywords) : nullptr;
}

bool Enter(PyObject* object, Led* led) {
  auto* const function = reinterpret_cast<PyFunctionObject*>(object);
  if (plainly == nullptr) plainly = function->vectorcall;
  all_led.Set(object, reinterpret_cast<PyObject*>(led));
  SetVectorcall(function, CallLed);
  return true;
}

void Leave(PyObject* function, Led*) {
  SetVectorcall(reinterpret_cast<PyFunctionObject*>(function), plainly);
  all_led.Remove(function);
}

constexpr void* kCodeOf = nullptr;

bool CanBeLed(PyObject*) { return kHasGil; }

int ReadyTypes() { return 0; }

#endif

PyObject* Make(PyObject* function) {
  auto* led = PyObject_GC_New(Led, &led_type);
  if (led == nullptr) return nullptr;
  const PyObject head = led->ob_base;
  *led = {};
  led->ob_base = head;
  led->vectorcall = CallPlainly;
  PyObject_GC_Track(led);
  Ref made(reinterpret_cast<PyObject*>(led));
  led->function = PyWeakref_NewRef(function, nullptr);
  return led->function != nullptr && Enter(function, led) ? made.release() : nullptr;
}

}  // namespace

PyObject* LeadFunction(PyObject* function, PyObject* to) {
  if (!Py_IS_TYPE(function, &PyFunction_Type) || !CanBeLed(function)) return nullptr;
  Ref object = Ref::Borrow(reinterpret_cast<PyObject*>(Find(function)));
  if (!object) object = Ref(Make(function));
  if (!object) return nullptr;
  PyObject* before =
      std::exchange(reinterpret_cast<Led*>(object.get())->to, Ref::Borrow(to).release());
  return before != nullptr ? before : object.release();
}

PyObject* LedTo(PyObject* function) {
  Led* led = Py_IS_TYPE(function, &PyFunction_Type) ? Find(function) : nullptr;
  return led == nullptr ? nullptr : led->to;
}

void UnleadFunction(PyObject* function) {
  Led* led = Py_IS_TYPE(function, &PyFunction_Type) ? Find(function) : nullptr;
  if (led == nullptr) return;
  const Ref kept = Ref::Borrow(reinterpret_cast<PyObject*>(led));
  Leave(function, led);
  Py_CLEAR(led->to);
}

PyObject* CodeOfFunctions(PyObject*, PyObject*) {
  return PyLong_FromVoidPtr(reinterpret_cast<void*>(kCodeOf));
}

int AddFunctionTypes() { return PyType_Ready(&led_type) != 0 || ReadyTypes() != 0 ? -1 : 0; }

}  // namespace crosscut::python
