#include "python/ext/record_imports.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "python/ext/record_shared.h"
#include "python/ext/record_unseen.h"

namespace crosscut::python {
namespace {

SharedRef watched;  // a dict, or none
SharedRef told, told_of_loads;

// The name of the module in whose dictionary exec() runs its code, a new reference; null: none.
PyObject* OfNames(PyObject* code, PyObject* names) {
  if (!PyCode_Check(code) || !PyDict_Check(names)) return nullptr;
  PyObject* name = PyDict_GetItemString(names, "__name__");
  if (name == nullptr || !PyUnicode_Check(name)) return nullptr;
  // PyImport_GetModule() would take the lock of a module that is being imported.
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* module = PyDict_Check(modules) ? PyDict_GetItem(modules, name) : nullptr;
  if (module == nullptr || !PyModule_Check(module) || PyModule_GetDict(module) != names) {
    return nullptr;
  }
  Py_INCREF(name);
  return name;
}

// The name by which a native module is imported: its own may be another.
PyObject* OfModule(PyObject* module) {
  PyObject* spec = PyObject_GetAttrString(module, "__spec__");
  PyObject* name = spec == nullptr ? nullptr : PyObject_GetAttrString(spec, "name");
  Py_XDECREF(spec);
  PyErr_Clear();
  if (name == nullptr || PyUnicode_Check(name)) return name;
  Py_DECREF(name);
  return nullptr;
}

bool IsWatched(PyObject* watched_names, PyObject* name) {
  if (PyDict_Contains(watched_names, name) > 0) return true;
  const Py_ssize_t length = PyUnicode_GET_LENGTH(name);
  for (Py_ssize_t at = 0; at < length; ++at) {
    at = PyUnicode_FindChar(name, '.', at, length, 1);
    if (at < 0) break;
    PyObject* package = PyUnicode_Substring(name, 0, at + 1);
    const bool found = package != nullptr && PyDict_Contains(watched_names, package) > 0;
    Py_XDECREF(package);
    if (found) return true;
  }
  PyErr_Clear();
  return false;
}

// One of the interpreter's functions that run a module's code.
struct Runner {
  const char* module;
  const char* name;
  PyObject* function;
  vectorcallfunc before;  // null: through the type
};
Runner runners[] = {{"builtins", "exec", nullptr, nullptr},
                    {"_imp", "exec_dynamic", nullptr, nullptr},
                    {"_imp", "exec_builtin", nullptr, nullptr}};

constexpr int kNative = 1;

PyObject* ModuleOf(const Runner& runner, PyObject* const* args, Py_ssize_t count) {
  if (&runner != runners) return count == 1 ? OfModule(args[0]) : nullptr;
  return count == 2 ? OfNames(args[0], args[1]) : nullptr;
}

// The name of the module, if its import is to be told of; a new reference, or null.
PyObject* WatchedName(const Runner& runner, PyObject* const* args, Py_ssize_t count) {
  PyObject* names = watched.Get();
  PyObject* name = names == nullptr ? nullptr : ModuleOf(runner, args, count);
  if (name != nullptr && !IsWatched(names, name)) Py_CLEAR(name);
  Py_XDECREF(names);
  return name;
}

// The modules whose code this thread runs. Not on the stack: a greenlet leaves in the middle.
thread_local std::vector<PyObject*> running;

// A module's own code may run more code in its dictionary before it is done itself.
bool IsRunning(PyObject* name) {
  return std::any_of(running.begin(), running.end(),
                     [name](PyObject* one) { return PyUnicode_Compare(one, name) == 0; });
}

void Enter(PyObject* name) {
  if (name != nullptr) running.push_back(name);
}

void Leave(PyObject* name) {
  const auto last = std::find(running.rbegin(), running.rend(), name);
  if (last != running.rend()) running.erase(std::next(last).base());
}

template <int kWhich>
PyObject* Run(PyObject* callable, PyObject* const* args, size_t flags, PyObject* keywords) {
  const Runner& runner = runners[kWhich];
  PyObject* name = WatchedName(runner, args, PyVectorcall_NARGS(flags));
  if (name != nullptr && IsRunning(name)) Py_CLEAR(name);
  Enter(name);
  PyObject* result = runner.before(callable, args, flags, keywords);
  Leave(name);
  if (kWhich == kNative && result != nullptr) {
    PyObject* const loaded = told_of_loads.Get();
    if (loaded != nullptr) result = TellUnseen(loaded, Py_None, result);
    Py_XDECREF(loaded);
  }
  PyObject* const tell = name != nullptr && result != nullptr ? told.Get() : nullptr;
  if (tell != nullptr) result = TellUnseen(tell, name, result);
  Py_XDECREF(tell);
  Py_XDECREF(name);
  return result;
}

// What the import system calls is the function object, by its own pointer. Its hash and its C
// function stay what they are, and so do specialised calls of it, which are not the import
// system's.
bool Lead(Runner* runner, vectorcallfunc run) {
  if (runner->function != nullptr) return true;
  PyObject* module = PyImport_ImportModule(runner->module);
  PyObject* function = module == nullptr ? nullptr : PyObject_GetAttrString(module, runner->name);
  Py_XDECREF(module);
  PyErr_Clear();
  auto* builtin = reinterpret_cast<PyCFunctionObject*>(function);
  if (function == nullptr || !PyCFunction_CheckExact(function) || builtin->vectorcall == nullptr) {
    Py_XDECREF(function);
    return false;
  }
  runner->before = builtin->vectorcall;
  runner->function = function;  // for good
  builtin->vectorcall = run;
  return true;
}

}  // namespace

PyObject* FollowImports(PyObject*, PyObject* args) {
  PyObject *names, *callable;
  if (!PyArg_ParseTuple(args, "OO:follow_imports", &names, &callable)) return nullptr;
  const bool wanted = PyDict_Check(names);
  if (wanted) {
    Py_INCREF(names);
    Py_INCREF(callable);
  }
  watched.Set(wanted ? names : nullptr);
  told.Set(wanted ? callable : nullptr);
  if (!wanted) Py_RETURN_TRUE;
  const bool all[] = {Lead(&runners[0], Run<0>), Lead(&runners[1], Run<1>),
                      Lead(&runners[2], Run<2>)};
  return PyBool_FromLong(all[0] && all[1] && all[2]);
}

PyObject* FollowLoads(PyObject*, PyObject* callable) {
  Py_INCREF(callable);
  if (callable == Py_None) Py_CLEAR(callable);
  told_of_loads.Set(callable);
  Py_RETURN_NONE;
}

}  // namespace crosscut::python
