// The module crosscut._record: annotations and the session, over the C API. Everything that is
// not on the hot path stands in Python, in the package.
#include <atomic>
#include <cstdint>

#include "crosscut/crosscut.h"
#include "crosscut/in_python.h"
#include "python/ext/record_functions.h"
#include "python/ext/record_module.h"
#include "python/ext/record_operation.h"
#include "python/ext/record_requests.h"
#include "python/ext/record_shared.h"
#include "python/ext/record_shortfall.h"
#include "python/ext/record_steps.h"
#include "python/ext/record_tasks.h"
#include "python/ext/record_unseen.h"

namespace crosscut::python {
namespace {

NameIds ids(CROSSCUT_SPAN), kinds(CROSSCUT_STEP);  // of instants and counters; of steps

// After a conversion of the program's own failed: true where its exception goes no further.
bool Swallow() {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return false;
  PyErr_Clear();
  return true;
}

Shortfall fractions("fractions of counters", "value was cut to a whole number",
                    "values were cut to whole numbers");

bool Cut(double number, int64_t* out) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (!(number >= -kLimit && number < kLimit)) return false;
  *out = static_cast<int64_t>(number);
  if (static_cast<double>(*out) != number) fractions.Add();
  return true;
}

// The value by one of its conversions; null, without an exception, where it has none of that kind.
Ref Converted(PyObject* value, PyObject* (*convert)(PyObject*)) {
  Ref number(convert(value));
  if (!number && PyErr_ExceptionMatches(PyExc_TypeError)) PyErr_Clear();
  return number;
}

// `value` as a whole number, its fraction cut off, which is told; false where it is none that can
// be kept: not finite, more than 64 bits, text, anything that converts to no number. One conversion
// where that can be: a device's value is waited for.
bool AsInteger(PyObject* value, int64_t* out) {
  if (PyFloat_Check(value)) return Cut(PyFloat_AS_DOUBLE(value), out);
  if (PyUnicode_Check(value) || PyBytes_Check(value) || PyByteArray_Check(value)) return false;
  Ref number = Converted(value, PyNumber_Index);
  if (!number && !PyErr_Occurred()) {
    const Ref real = Converted(value, PyNumber_Float);
    if (real) return Cut(PyFloat_AS_DOUBLE(real.get()), out);
    if (!PyErr_Occurred()) number = Ref(PyNumber_Long(value));
  }
  if (!number) return false;
  int overflow = 0;
  *out = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  return overflow == 0;
}

PyObject* Bool(bool value) { return PyBool_FromLong(value); }

PyObject* Start(PyObject*, PyObject* args, PyObject* keywords) {
  crosscut_options options;
  if (!PyArg_ParseTuple(args, ":start") || !ParseOptions(keywords, &options)) return nullptr;
  // Before: other threads may open some once it records.
  if (crosscut_active() == 0) ForgetOpenOperations();
  const int code = Apart([&] { return crosscut_start(&options); });
  if (code == CROSSCUT_OK) {
    ThisThreadRunsPython();
    crosscut_base(CROSSCUT_PYTHON);
  }
  return PyLong_FromLong(code);
}

PyObject* Stop(PyObject*, PyObject*) {
  const int code = Apart(crosscut_stop);
  if (code == CROSSCUT_OK) ForgetOpenOperations();
  return PyLong_FromLong(code);
}

PyObject* Whole(PyObject*, PyObject* on) {
  const int truth = PyObject_IsTrue(on);
  if (truth < 0) return nullptr;
  return PyLong_FromLong(Apart([&] { return crosscut_whole(truth); }));
}

template <int (*kChange)()>
PyObject* Changed(PyObject*, PyObject*) {
  return PyLong_FromLong(Apart(kChange));
}

PyObject* FinishPlugins(PyObject*, PyObject*) {
  Apart(crosscut_plugins_finish);
  Py_RETURN_NONE;
}

PyObject* Armed(PyObject*, PyObject*) { return Bool(crosscut_armed() != 0); }
PyObject* InWindow(PyObject*, PyObject*) { return Bool(crosscut_in_window() != 0); }
PyObject* Active(PyObject*, PyObject*) { return Bool(crosscut_active() != 0); }
PyObject* Error(PyObject*, PyObject*) { return PyUnicode_FromString(crosscut_error()); }
PyObject* Version(PyObject*, PyObject*) { return PyUnicode_FromString(crosscut_version()); }
PyObject* BudgetBeforeSteps(PyObject*, PyObject*) {
  return PyFloat_FromDouble(crosscut_budget_before_steps());
}
PyObject* RunDir(PyObject*, PyObject*) { return PyUnicode_DecodeFSDefault(crosscut_run_dir()); }

PyObject* ProcessKey(PyObject*, PyObject*) {
  return PyUnicode_DecodeFSDefault(crosscut_process_key());
}

PyObject* FollowFork(PyObject*, PyObject* on) {
  const int truth = PyObject_IsTrue(on);
  if (truth < 0) return nullptr;
  crosscut_follow_fork(truth);
  Py_RETURN_NONE;
}

PyObject* Step(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count > 1) {
    PyErr_SetString(PyExc_TypeError, "step() takes at most one argument: the kind of step");
    return nullptr;
  }
  uint32_t kind = 0;
  if (count == 1 && args[0] != Py_None) {
    kind = kinds.Of(args[0]);
    if (kind == 0 && PyErr_Occurred()) return nullptr;
  }
  return BeginDeclaredStep(kind);
}

PyObject* StepEnd(PyObject*, PyObject*) {
  EndStep();
  Py_RETURN_NONE;
}

PyObject* Lead(PyObject*, PyObject*) {
  crosscut_lead();
  Py_RETURN_NONE;
}

PyObject* Phase(PyObject*, PyObject* name) {
  if (name == Py_None) {
    Apart([] { crosscut_phase(nullptr); });
    Py_RETURN_NONE;
  }
  const Ref text = AsUtf8(name);
  if (!text) return nullptr;
  Apart([&] { crosscut_phase(PyBytes_AS_STRING(text.get())); });
  Py_RETURN_NONE;
}

PyObject* Progress(PyObject*, PyObject* number) {
  if (!crosscut_active()) Py_RETURN_NONE;
  double fraction = PyFloat_AsDouble(number);
  if (fraction == -1 && PyErr_Occurred() && !Swallow()) return nullptr;
  ThisThreadRunsPython();
  crosscut_progress(fraction);
  Py_RETURN_NONE;
}

PyObject* ProcessName(PyObject*, PyObject* name) {
  const Ref text = AsUtf8(name);
  if (!text) return nullptr;
  Apart([&] { crosscut_process_name(PyBytes_AS_STRING(text.get())); });
  Py_RETURN_NONE;
}

PyObject* Meta(PyObject*, PyObject* args) {
  PyObject *key, *value;
  if (!PyArg_ParseTuple(args, "OO:meta", &key, &value)) return nullptr;
  const Ref key_text = AsUtf8(key);
  const Ref value_text = key_text ? AsUtf8(value) : Ref();
  if (!value_text) return nullptr;
  Apart([&] {
    crosscut_meta(PyBytes_AS_STRING(key_text.get()), PyBytes_AS_STRING(value_text.get()));
  });
  Py_RETURN_NONE;
}

PyObject* Instant(PyObject*, PyObject* name) {
  const uint32_t id = ids.Of(name);
  if (id == 0 && PyErr_Occurred()) return nullptr;
  if (crosscut_recording()) {
    ThisThreadRunsPython();
    crosscut_instant(id);
  }
  Py_RETURN_NONE;
}

PyObject* Counter(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "counter() takes two arguments: name and value");
    return nullptr;
  }
  if (!crosscut_recording()) Py_RETURN_NONE;
  const uint32_t id = ids.Of(args[0]);
  if (id == 0 && PyErr_Occurred()) return nullptr;
  ThisThreadRunsPython();
  int64_t value = 0;
  if (AsInteger(args[1], &value)) {
    crosscut_counter(id, value);
  } else {
    if (PyErr_Occurred() && !Swallow()) return nullptr;
    crosscut_value_lost();
  }
  Py_RETURN_NONE;
}

PyObject* SourceState(PyObject*, PyObject* args) {
  PyObject* given[4];
  if (!PyArg_ParseTuple(args, "OOOO:source_state", &given[0], &given[1], &given[2], &given[3])) {
    return nullptr;
  }
  Ref texts[4];
  for (int i = 0; i < 4; ++i) {
    texts[i] = AsUtf8(given[i]);
    if (!texts[i]) return nullptr;
  }
  const auto text = [&](int i) { return PyBytes_AS_STRING(texts[i].get()); };
  Apart([&] { crosscut_source_state(text(0), text(1), text(2), text(3)); });
  Py_RETURN_NONE;
}

PyObject* AfterForkInChildFunction(PyObject*, PyObject*) {
  ForgetLearner();
  ForgetCalls();
  ForgetOutermost();
  ForgetRequests();
  MarkForked();
  Py_RETURN_NONE;
}

PyObject* RunsTasks(PyObject*, PyObject*) {
  ThisThreadRunsTasks();
  Py_RETURN_NONE;
}

PyObject* StartsIn(PyObject*, PyObject* task) {
  StartInTask(task);
  Py_RETURN_NONE;
}

PyObject* RunsPython(PyObject*, PyObject*) {
  if (crosscut_active()) ThisThreadRunsPython();
  Py_RETURN_NONE;
}

PyObject* OpenDepthFunction(PyObject*, PyObject*) { return PyLong_FromUnsignedLong(OpenDepth()); }

PyObject* Now(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(crosscut_now()); }

PyObject* NsPerTick(PyObject*, PyObject*) { return PyFloat_FromDouble(crosscut_ns_per_tick()); }

PyObject* Span(PyObject*, PyObject* args) {
  PyObject* name = nullptr;
  int layer = 0;
  if (!PyArg_ParseTuple(args, "Ui", &name, &layer)) return nullptr;
  return MakeSpan(name, layer);
}

PyObject* FoundOperation(PyObject*, PyObject* name) { return MakeFound(name); }

PyMethodDef functions[] = {
    {"start", Function(Start), METH_VARARGS | METH_KEYWORDS, "Returns a CROSSCUT_E* code."},
    {"arm", Function(Arm), METH_VARARGS | METH_KEYWORDS, "Returns a CROSSCUT_E* code."},
    {"armed", Armed, METH_NOARGS, "True after arm()."},
    {"in_window", InWindow, METH_NOARGS, "True where a window begins or has begun."},
    {"stop", Stop, METH_NOARGS, "Returns a CROSSCUT_E* code."},
    {"pause", Changed<crosscut_pause>, METH_NOARGS, "Returns a CROSSCUT_E* code."},
    {"resume", Changed<crosscut_resume>, METH_NOARGS, "Returns a CROSSCUT_E* code."},
    {"whole", Whole, METH_O, "Whether steps are recorded in full. A CROSSCUT_E* code."},
    {"snapshot", Changed<crosscut_snapshot>, METH_NOARGS, "Returns a CROSSCUT_E* code."},
    {"flush", Changed<crosscut_flush>, METH_NOARGS, "Returns a CROSSCUT_E* code."},
    {"finish_plugins", FinishPlugins, METH_NOARGS, "Waits for what the plugins hand over."},
    {"active", Active, METH_NOARGS, "active($module, /)\n--\n\nTrue between start and stop."},
    {"error", Error, METH_NOARGS, "error($module, /)\n--\n\nWords about this thread's last error."},
    {"version", Version, METH_NOARGS, "The recorder library's version."},
    {"budget_before_steps", BudgetBeforeSteps, METH_NOARGS,
     "budget_before_steps($module, /)\n--\n\n"
     "The share of the program's time that recording may cost while it has no step; 0: no limit."},
    {"run_dir", RunDir, METH_NOARGS, "run_dir($module, /)\n--\n\nWhere this process records."},
    {"process_key", ProcessKey, METH_NOARGS, "This process's key in its run."},
    {"follow_fork", FollowFork, METH_O, "Whether forked children record."},
    {"step", Function(Step), METH_FASTCALL,
     "step($module, kind=None, /)\n--\n\n"
     "Ends the current step of the process, if any, and begins the next; returns its number."},
    {"step_end", StepEnd, METH_NOARGS,
     "step_end($module, /)\n--\n\nEnds the current step without beginning another."},
    {"lead", Lead, METH_NOARGS,
     "lead($module, /)\n--\n\nMakes this thread the lead of its process."},
    {"phase", Phase, METH_O,
     "phase($module, name, /)\n--\n\nBegins a phase of the process; None ends it."},
    {"progress", Progress, METH_O,
     "progress($module, fraction, /)\n--\n\nHow much of the program is done, from 0 to 1."},
    {"process_name", ProcessName, METH_O,
     "process_name($module, name, /)\n--\n\nNames the process in reports."},
    {"meta", Meta, METH_VARARGS,
     "meta($module, key, value, /)\n--\n\nStates a fact of the process."},
    {"found_operation", FoundOperation, METH_O,
     "operation() for adapters: told apart from the program's own of its name."},
    {"span", Span, METH_VARARGS, "name, layer: a context manager, for adapters."},
    {"instant", Instant, METH_O,
     "instant($module, name, /)\n--\n\nMarks a point in time on this thread."},
    {"counter", Function(Counter), METH_FASTCALL,
     "counter($module, name, value, /)\n--\n\n"
     "Records a value, as an integer of 64 bits; what is none counts as lost."},
    {"source_state", SourceState, METH_VARARGS, "name, version, state, message."},
    {"add_source", AddSource, METH_VARARGS, "name, version, set_level; its handle or 0."},
    {"remove_source", RemoveSource, METH_O, "Forgets the source of that handle."},
    {"ours", Function(Ours), METH_FASTCALL, "Calls function(*args): its time is layer overhead."},
    {"aside", Aside, METH_O, "Calls it on a thread of Crosscut's own: layer overhead."},
    {"follow_loads", FollowLoads, METH_O, "Called with None after native modules; None: nobody."},
    {"follow_imports", FollowImports, METH_VARARGS,
     "dict of names, callable: told when the code of such a module has run."},
    {"follow_classes", FollowClasses, METH_VARARGS,
     "class, when (made, used), callable: told of each class below it from now on."},
    {"lead_calls", LeadCalls, METH_O,
     "around(): leads its function's calls through it; whether it does."},
    {"unlead_calls", UnleadCalls, METH_O, "around(): they go through it no more."},
    {"code_of_functions", CodeOfFunctions, METH_NOARGS,
     "Address of what C is to call for PyFunction_GetCode; 0: nothing."},
    {"divert", Divert, METH_VARARGS,
     "method descriptor, around(): leads its calls through that; False where that cannot be."},
    {"follow_slices", FollowSlices, METH_VARARGS,
     "Context.run, code: what it runs for that code is a task's slice; False where it cannot be."},
    {"follow_await", FollowAwait, METH_VARARGS,
     "class, callable: told of each `await` of one of its objects; False where that cannot be."},
    {"request_name", RequestName, METH_VARARGS, "text, task=False: a name of requests."},
    {"request_begin", RequestBegin, METH_O, "name: the request's number; 0: nothing records."},
    {"request_end", Function(RequestEnd), METH_FASTCALL, "name, number, running_ns=-1."},
    {"follow_requests", FollowRequests, METH_O, "Future.done: tasks are followed; None: no more."},
    {"task_begins", Function(TaskBegins), METH_FASTCALL | METH_KEYWORDS, "Before create_task()."},
    {"task_made", Function(TaskMade), METH_FASTCALL, "After create_task()."},
    {"next_task", NextTask, METH_O, "What the next task of this thread is."},
    {"task_is", TaskIs, METH_O, "name: of the request that the running task handles."},
    {"task_ran", TaskRan, METH_NOARGS, "The running task, and its ns so far; None: not known."},
    {"request_ran", RequestRan, METH_NOARGS, "Likewise, of all tasks of the request it is of."},
    {"flow_out", Function(FlowOutFunction), METH_FASTCALL,
     "key, part=0: an arrow leaves the innermost open span."},
    {"flow_in", Function(FlowInFunction), METH_FASTCALL,
     "key, part=0: an arrow arrives at the innermost open span."},
    {"arg", Function(ArgFunction), METH_FASTCALL, "key, value: of the span last begun here."},
    {"base", BaseFunction, METH_O, "The layer of this thread outside of all spans."},
    {"other_profiler", OtherProfiler, METH_VARARGS,
     "who, moment: a profiler of the program's own starts (0), has started (1), ends (2), ended "
     "(3)."},
    {"plugin_option", PluginOption, METH_VARARGS,
     "key, value: a setting of plugins; None takes it back."},
    {"collected", Collected, METH_VARARGS,
     "source, format, bytes, begin_realtime_ns, error_ns; a CROSSCUT_E* code."},
    {"now", Now, METH_NOARGS, "The recorder's clock, in ticks."},
    {"ns_per_tick", NsPerTick, METH_NOARGS, "Nanoseconds per tick."},
    {"set_step_hook", SetStepHook, METH_O, "Called with the number of each step; None: nobody."},
    {"set_decorator", SetDecorator, METH_O, "What wraps decorated functions."},
    {"after_fork_in_child", AfterForkInChildFunction, METH_NOARGS, "The child's first event."},
    {"follow_greenlets", FollowGreenlets, METH_VARARGS,
     "greenlet's settrace, gettrace: follows greenlets of all threads; None, None: no others."},
    {"runs_tasks", RunsTasks, METH_NOARGS, "Tells that this thread runs tasks, or may."},
    {"starts_in", StartsIn, METH_O, "Tells that this thread runs that task of its loop already."},
    {"runs_python", RunsPython, METH_NOARGS, "Tells that this thread runs Python, before a mark."},
    {"open_depth", OpenDepthFunction, METH_NOARGS, "Operations open on this thread."},
    {nullptr, nullptr, 0, nullptr}};

int Exec(PyObject* module) {
  // As CPython says it from 3.12 on: python/crosscut/_inject.py looks for the word.
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError,
                    "module crosscut._record does not support loading in subinterpreters");
    return -1;
  }
  if (!ids.Make() || !kinds.Make()) return -1;
  if (!FollowForks()) {
    PyErr_NoMemory();
    return -1;
  }
  if (AddOperationType(module) != 0 || AddAroundType(module) != 0 ||
      AddAwaitingTypes(module) != 0 || AddUnseenType(module) != 0 ||
      AddStepFunctions(module) != 0 || AddCallFunctions(module) != 0 ||
      AddRemoteFunctions(module) != 0 || !PythonRuns::CloseAtExit()) {
    return -1;
  }
  AddAnnotationSource();
  return 0;
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(Exec)},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "crosscut._record",
                          "Annotations and session control, over libcrosscut.",
                          0,
                          functions,
                          slots,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace crosscut::python

PyMODINIT_FUNC PyInit__record() { return PyModuleDef_Init(&crosscut::python::definition); }
