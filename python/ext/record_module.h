// What record.cc makes the module of: the functions and types that stand in files of their own. All
// functions need the GIL, where there is one. Those that return an object return a new reference,
// or null with an exception; those that add something to the module return -1 with one on failure.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "crosscut/crosscut.h"

namespace crosscut::python {

// ---- record_around.cc: what stands around other people's functions, without a frame ----

// Adds the type "around".
int AddAroundType(PyObject* module);

// lead_calls(around): calls of the function that it is around, or that the arounds in it are, go
// through it from now on, wherever that function is kept; the function stays what it is. False
// where it is none of Python's. What leads later is called first.
PyObject* LeadCalls(PyObject* module, PyObject* around);

// unlead_calls(around): they go through it no more.
PyObject* UnleadCalls(PyObject* module, PyObject* around);

// divert(descriptor, around): calls of a method descriptor that takes a tuple and keywords go
// through `around` (whose `before` gets the object alone), however it is called; one descriptor at
// a time, None ends it. The descriptor stays what it is, and profilers go on seeing calls of it.
// False where it is another kind of object. Its function's own table is left alone: the boundary
// may stand there.
PyObject* Divert(PyObject* module, PyObject* args);

// In the child, on the thread that forked: it is in no call that it was forked in.
void ForgetOutermost();

// ---- record_awaiting.cc: awaitables that adapters look into, which are no frames either ----

// Adds the types "awaiting" and "awaiting_each".
int AddAwaitingTypes(PyObject* module);

// follow_await(cls, callable): from now on callable(object, result, failed) is told, unseen, where
// an `await object` of a C type `cls` ends while this thread records; None: nobody is. Of one class
// in the process. False where `cls` has no slot for it, or where another class is followed.
PyObject* FollowAwait(PyObject*, PyObject* args);

// ---- record_calls.cc: calls of functions that a framework compiles into graphs ----
// They may update a model: what each of them is, and the step that its end is the end of, without
// Python but for each graph's first time.

// Adds, for adapters: compiled_functions(), compiled_function().
int AddCallFunctions(PyObject* module);

// In a forked child: it is in no call.
void ForgetCalls();

// ---- record_remote.cc: calls that are executed elsewhere ----
// Their results are referred to until they are here: spans of layer comm around the calls and the
// waits of this process, and the arrows between those and what is executed. A reference is an
// object with binary(), its task's bytes and its number among the task's objects, or has one as
// `_generator_ref`, as Ray's are.

// Adds, for adapters: what makes such functions.
int AddRemoteFunctions(PyObject* module);

// ---- record_marks.cc: what adapters mark by key and value ----

// flow_out(key, part=0), flow_in(key, part=0): an arrow leaves, or arrives at, the innermost open
// span. Both ends name it by the same bytes and part, in whatever process they are. Part 0 is a
// call's arrow, part 1 with the same key that of its result.
PyObject* FlowOutFunction(PyObject*, PyObject* const* args, Py_ssize_t count);
PyObject* FlowInFunction(PyObject*, PyObject* const* args, Py_ssize_t count);

// arg(key, value): of the span that was last begun on this thread; an int as a number, everything
// else as text.
PyObject* ArgFunction(PyObject*, PyObject* const* args, Py_ssize_t count);

// base(layer): the layer of this thread outside of every span, from now on.
PyObject* BaseFunction(PyObject*, PyObject* layer);

// ---- record_classes.cc: classes of other people's, in which nothing of it is to be seen ----

// follow_classes(root, when, follower): follower(cls) is called for each class below `root` that is
// made from now on: as soon as it is there (`when` is "made"), or before its first instance is
// ("used"). One follower for each of the two; None: nobody is told any more. `root` is kept alive
// until then. RuntimeError where classes cannot be followed.
PyObject* FollowClasses(PyObject* module, PyObject* args);

// ---- record_imports.cc: modules that have just been imported ----
// Told where the interpreter runs their code, so that nothing of ours is on sys.meta_path, in a
// module's spec or on the stack below its code.

// follow_imports(watched, told): from now on told(name) is called, unseen, when the code of a
// module has run whose name is a key of the dict `watched`, or that is below a package whose name
// with a dot behind it is one. watched None: nobody is told any more. False where the interpreter's
// functions have been replaced by others.
PyObject* FollowImports(PyObject* module, PyObject* args);

// follow_loads(told): told(None) is called, unseen, after each native module was imported, where
// imports are followed. None: nobody is told any more.
PyObject* FollowLoads(PyObject* module, PyObject* told);

// ---- record_slices.cc: the slices of asyncio's tasks, and the switches of greenlets ----
// A loop runs each slice by contextvars.Context.run(), where a task is entered and left in C,
// without a function of Python's between. What both cost is measured, and marked in the recording.

// follow_slices(descriptor, code): what `descriptor` (that of Context.run) runs for a frame of that
// code is, from now on, a slice of the task that the callback is bound to. None: nothing is any
// more. The descriptor stays what it is. False where it is another kind of object.
PyObject* FollowSlices(PyObject* module, PyObject* args);

// follow_greenlets(settrace, gettrace), greenlet's functions: from now on the greenlets of this
// thread are followed, and of each other one that begins operations. What the program sets there
// goes on being called, and it sees nothing else there. None twice: no further threads are. False
// where they are others'.
PyObject* FollowGreenlets(PyObject* module, PyObject* args);

// ---- record_sources.cc: sources that are written in Python, and the profiles they hand over ----

// add_source(name, version, set_level) -> handle: `set_level` (a callable) is called with the level
// (an int of enum crosscut_level), unseen, whenever the step plan, the session or a pause switches
// sources, and at once where a session records. The time that it takes is recorded as layer
// `overhead`. What it raises is printed as an unraisable exception. 0 where the source could not be
// added.
PyObject* AddSource(PyObject*, PyObject* args);

// remove_source(handle): not called any more after this. Before the interpreter ends, please.
PyObject* RemoveSource(PyObject*, PyObject* handle);

// ours(function, *args): calls it, unseen, and gives back its result; its time, with whatever it
// calls, is work of Crosscut's own: layer `overhead`.
PyObject* Ours(PyObject*, PyObject* const* args, Py_ssize_t count);

// aside(callable): calls it, unseen, on a thread of Crosscut's own; its time is recorded as layer
// `overhead`, and the thread counts as idle after it.
PyObject* Aside(PyObject*, PyObject* callable);

// other_profiler(who, moment): crosscut_other_profiler(), without the GIL.
PyObject* OtherProfiler(PyObject*, PyObject* args);

// plugin_option(key, value or None): crosscut_plugin_option(), without the GIL.
PyObject* PluginOption(PyObject*, PyObject* args);

// collected(source, format, bytes, begin_realtime_ns, error_ns) -> a CROSSCUT_E* code.
PyObject* Collected(PyObject*, PyObject* args);

// Registers the source "annotations", once (record_calibrate.cc): the recorder then calibrates per
// session what an operation scope of Python costs, the probe kind "operation".
void AddAnnotationSource();

// ---- record_on_demand.cc: a Python process that waits for `crosscut start` ----

// arm(window, **options of start) -> a CROSSCUT_E* code. Requests that wait for no step are carried
// out by the main thread, between two of its bytecodes (a pending call of the interpreter: nothing
// is in place before one is asked for), or by the library's thread where that one is blocked.
// `window(begins)` is called just before a window begins (True) and just after it ended (False), on
// the thread that carries the request out; what it raises is printed as an unraisable exception.
// May be called again in a forked child.
PyObject* Arm(PyObject*, PyObject* args, PyObject* keywords);

// Of start() and arm(): run_dir, memory_bytes, flight_recorder, keep_seconds, control_percent,
// seed, plan, budget_percent, all optional, by name (record_options.cc). The texts live as long as
// the dict does, which may be null. False with an exception set where there is another name or a
// wrong type.
bool ParseOptions(PyObject* keywords, crosscut_options* options);

}  // namespace crosscut::python
