#include "python/ext/record_module.h"

#if PY_VERSION_HEX < 0x030b0000
#include <frameobject.h>
#endif

#include <utility>

#include "crosscut/crosscut.h"
#include "crosscut/frame.h"
#include "crosscut/in_python.h"
#include "crosscut/ref.h"
#include "python/ext/record_cost_mark.h"
#include "python/ext/record_led_method.h"
#include "python/ext/record_requests.h"
#include "python/ext/record_shared.h"
#include "python/ext/record_shortfall.h"
#include "python/ext/record_stack.h"
#include "python/ext/record_tasks.h"

namespace crosscut::python {
namespace {

using Method = _PyCFunctionFastWithKeywords;

LedMethod led_run;
const PyCodeObject* runs = nullptr;  // what it is called by; kept for good

const PyCodeObject* CodeThatCalls() {
#if PY_VERSION_HEX >= 0x030d0000
  // From 3.14 on the lowest bit says whether the frame owns a reference (_PyStackRef).
  constexpr uintptr_t kTag = PY_VERSION_HEX >= 0x030e0000 ? 1 : 0;
  const uintptr_t code = PyThreadState_Get()->current_frame->executable & ~kTag;
  return reinterpret_cast<const PyCodeObject*>(code);
#elif PY_VERSION_HEX >= 0x030c0000
  return reinterpret_cast<const PyCodeObject*>(
      PyThreadState_Get()->cframe->current_frame->executable);
#elif PY_VERSION_HEX >= 0x030b0000
  return PyThreadState_Get()->cframe->current_frame->code;
#else
  return PyThreadState_Get()->frame->f_code;
#endif
}

// What a callable is bound to; null: nothing. A callable of the program's own making is not asked:
// it may answer for any name, and do anything. Nor is a function: an answer that there is none
// takes longest.
Ref BoundTo(PyObject* callable) {
  if (PyFunction_Check(callable)) return Ref();
  if (PyMethod_Check(callable)) return Ref::Borrow(PyMethod_GET_SELF(callable));
  if (PyCFunction_Check(callable)) return Ref::Borrow(PyCFunction_GET_SELF(callable));
  static PyObject* const self = PyUnicode_InternFromString("__self__");
  if (Py_TYPE(callable)->tp_getattro != PyObject_GenericGetAttr) return Ref();
  Ref bound(PyObject_GenericGetAttr(callable, self));
  if (!bound) PyErr_Clear();
  return bound.get() == Py_None ? Ref() : std::move(bound);
}

// ---- What they cost ----

CostMark of_slices("operations of tasks (64 slices)");
CostMark of_switches("operations of tasks (64 switches)");

void CountSlice(PyObject* callback) {
  static thread_local int slices = 0;
  if (!of_slices.Count(&slices)) return;
  of_slices.Measure([callback](PyObject* none) {
    if (CodeThatCalls() != nullptr) BoundTo(callback);
    LeaveTask(none, EnterTask(none));
  });
}

PyObject* Run(PyObject* context, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  const auto function = led_run.Theirs<Method>();
  const PyCodeObject* const code = __atomic_load_n(&runs, __ATOMIC_RELAXED);
  const Ref bound =
      code != nullptr && count > 0 && CodeThatCalls() == code ? BoundTo(args[0]) : Ref();
  PyObject* const task = bound.get();  // the call may let go of the callback
  if (task == nullptr) return function(context, args, count, keywords);
  Slice around;
  const bool followed = SliceBegins(task, &around);
  const Outer outer = EnterTask(task);
  PyObject* result = function(context, args, count, keywords);
  {
    const PendingException kept;
    LeaveTask(task, outer);
  }
  if (followed) SliceEnds(task, around);
  if (outer.slice == 0) CountSlice(args[0]);
  return result;
}

// ---- Greenlets ----

// As greenlet calls its trace function: event, (from, to).
void Switched(PyObject* event, PyObject* both) {
  static thread_local int switches = 0;
  if (!PyTuple_Check(both) || PyTuple_GET_SIZE(both) != 2) return;
  const bool idle = SwitchTask(PyTuple_GET_ITEM(both, 0), PyTuple_GET_ITEM(both, 1));
  if (!of_switches.Count(&switches) || !idle) return;
  of_switches.Measure([event](PyObject* none) {
    const Ref args(Py_BuildValue("(O(OO))", event, none, none));
    if (!args) return PyErr_Clear();
    PyObject* to = PyTuple_GET_ITEM(args.get(), 1);
    SwitchTask(PyTuple_GET_ITEM(to, 0), PyTuple_GET_ITEM(to, 1));
  });
}

Shortfall unfollowed("greenlets",
                     "trace function of the program's failed: the operations of that thread's "
                     "greenlets are not told apart from then on",
                     "trace functions of the program's failed: the operations of these threads' "
                     "greenlets are not told apart from then on");

// greenlet calls no function again that has failed, and so not us.
PyObject* Trace(PyObject* theirs, PyObject* const* args, Py_ssize_t count) {
  if (count == 2) Switched(args[0], args[1]);
  if (theirs == nullptr || theirs == Py_None) Py_RETURN_NONE;
  PyObject* result = PyObject_Vectorcall(theirs, args, static_cast<size_t>(count), nullptr);
  if (result == nullptr) {
    const PendingException kept;
    unfollowed.Add();
  }
  return result;
}

PyMethodDef trace = {"trace", Function(Trace), METH_FASTCALL, nullptr};

LedMethod led_set, led_get;
SharedRef set_trace, get_trace;  // greenlet's; null: none is followed

bool IsOurs(PyObject* function) {
  return PyCFunction_Check(function) && PyCFunction_GET_FUNCTION(function) == trace.ml_meth;
}

// What the program has set, of what greenlet has: takes over a reference, or null.
PyObject* Theirs(PyObject* function) {
  if (function == nullptr || !IsOurs(function)) return function;
  PyObject* theirs = PyCFunction_GET_SELF(function);
  if (theirs == nullptr) theirs = Py_None;
  Py_INCREF(theirs);
  Py_DECREF(function);
  return theirs;
}

// settrace() and gettrace() as the program calls them: ours stays below, and is not seen.
PyObject* SetTrace(PyObject* module, PyObject* args) {
  const auto function = led_set.Theirs<PyCFunction>();
  const Ref follows = set_trace.Get();
  if (!follows || PyTuple_GET_SIZE(args) != 1) return Theirs(function(module, args));
  const Ref ours(PyCFunction_New(&trace, PyTuple_GET_ITEM(args, 0)));
  const Ref both(ours ? PyTuple_Pack(1, ours.get()) : nullptr);
  return both ? Theirs(function(module, both.get())) : nullptr;
}

PyObject* GetTrace(PyObject* module, PyObject* none) {
  return Theirs(led_get.Theirs<PyCFunction>()(module, none));
}

bool LeadFunctionOfC(PyObject* function, LedMethod* led, int flags, PyCFunction to) {
  return Py_IS_TYPE(function, &PyCFunction_Type) &&
         led->Lead(&reinterpret_cast<PyCFunctionObject*>(function)->m_ml, flags, to);
}

// Follows the greenlets of this thread.
void FollowThisThread() {
  const PendingException kept;
  ThisThreadRunsTasks();
  const Ref get = get_trace.Get(), set = set_trace.Get();
  if (!get || !set) return;
  const Ref before(PyObject_CallNoArgs(get.get()));
  const Ref done(before ? PyObject_CallOneArg(set.get(), before.get()) : nullptr);
  if (!done) PyErr_Clear();
}

}  // namespace

PyObject* FollowSlices(PyObject*, PyObject* args) {
  PyObject *descriptor, *code;
  if (!PyArg_ParseTuple(args, "OO:follow_slices", &descriptor, &code)) return nullptr;
  const bool none = code == Py_None;
  if (!Py_IS_TYPE(descriptor, &PyMethodDescr_Type) || (!none && !PyCode_Check(code)) ||
      !led_run.Lead(&reinterpret_cast<PyMethodDescrObject*>(descriptor)->d_method,
                    METH_FASTCALL | METH_KEYWORDS, Function(Run))) {
    Py_RETURN_FALSE;
  }
  if (!none) Py_INCREF(code);
  __atomic_store_n(&runs, none ? nullptr : reinterpret_cast<PyCodeObject*>(code), __ATOMIC_RELAXED);
  Py_RETURN_TRUE;
}

PyObject* FollowGreenlets(PyObject*, PyObject* args) {
  PyObject *set, *get;
  if (!PyArg_ParseTuple(args, "OO:follow_greenlets", &set, &get)) return nullptr;
  const bool led = set != Py_None && LeadFunctionOfC(set, &led_set, METH_VARARGS, SetTrace) &&
                   LeadFunctionOfC(get, &led_get, METH_NOARGS, GetTrace);
  const bool follows = set_trace.Get().get() == set;
  set_trace.Set(led ? set : nullptr);
  get_trace.Set(led ? get : nullptr);
  if (led && !follows) OnEachThread(FollowThisThread);
  if (led) FollowThisThread();
  return PyBool_FromLong(led);
}

}  // namespace crosscut::python
