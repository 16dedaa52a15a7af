// Sources that are written in Python, and the profiles that they hand over. All functions need the
// GIL.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace crosscut::python {

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

}  // namespace crosscut::python
