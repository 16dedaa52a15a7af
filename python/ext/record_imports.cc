#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "python/ext/record_module.h"
#include "python/ext/record_shared.h"
#include "python/ext/record_unseen.h"

namespace crosscut::python {
namespace {

SharedRef watched;  // a dict, or none
SharedRef told, told_of_loads;

// The name of the module in whose dictionary exec() runs its code; null: none.
Ref OfNames(PyObject* code, PyObject* names) {
  if (!PyCode_Check(code) || !PyDict_Check(names)) return Ref();
  PyObject* name = PyDict_GetItemString(names, "__name__");
  if (name == nullptr || !PyUnicode_Check(name)) return Ref();
  // PyImport_GetModule() would take the lock of a module that is being imported.
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* module = PyDict_Check(modules) ? PyDict_GetItem(modules, name) : nullptr;
  const bool its = module != nullptr && PyModule_Check(module) && PyModule_GetDict(module) == names;
  return Ref::Borrow(its ? name : nullptr);
}

// The name by which a native module is imported: its own may be another.
Ref OfModule(PyObject* module) {
  const Ref spec(PyObject_GetAttrString(module, "__spec__"));
  Ref name(spec ? PyObject_GetAttrString(spec.get(), "name") : nullptr);
  PyErr_Clear();
  return name && PyUnicode_Check(name.get()) ? std::move(name) : Ref();
}

bool IsWatched(PyObject* watched_names, PyObject* name) {
  if (PyDict_Contains(watched_names, name) > 0) return true;
  const Py_ssize_t length = PyUnicode_GET_LENGTH(name);
  for (Py_ssize_t at = 0; at < length; ++at) {
    at = PyUnicode_FindChar(name, '.', at, length, 1);
    if (at < 0) break;
    const Ref package(PyUnicode_Substring(name, 0, at + 1));
    if (package && PyDict_Contains(watched_names, package.get()) > 0) return true;
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

Ref ModuleOf(const Runner& runner, PyObject* const* args, Py_ssize_t count) {
  if (&runner != runners) return count == 1 ? OfModule(args[0]) : Ref();
  return count == 2 ? OfNames(args[0], args[1]) : Ref();
}

// The name of the module, if its import is to be told of; else null.
Ref WatchedName(const Runner& runner, PyObject* const* args, Py_ssize_t count) {
  const Ref names = watched.Get();
  Ref name = names ? ModuleOf(runner, args, count) : Ref();
  return name && IsWatched(names.get(), name.get()) ? std::move(name) : Ref();
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
  Ref name = WatchedName(runner, args, PyVectorcall_NARGS(flags));
  if (name && IsRunning(name.get())) name = Ref();
  Enter(name.get());
  PyObject* result = runner.before(callable, args, flags, keywords);
  Leave(name.get());
  if (kWhich == kNative && result != nullptr) {
    const Ref loaded = told_of_loads.Get();
    if (loaded) result = TellUnseen(loaded.get(), Py_None, result);
  }
  const Ref tell = name && result != nullptr ? told.Get() : Ref();
  return tell ? TellUnseen(tell.get(), name.get(), result) : result;
}

// What the import system calls is the function object, by its own pointer. Its hash and its C
// function stay what they are, and so do specialised calls of it, which are not the import
// system's.
bool Lead(Runner* runner, vectorcallfunc run) {
  if (runner->function != nullptr) return true;
  const Ref module(PyImport_ImportModule(runner->module));
  Ref function(module ? PyObject_GetAttrString(module.get(), runner->name) : nullptr);
  PyErr_Clear();
  auto* builtin = reinterpret_cast<PyCFunctionObject*>(function.get());
  if (!function || !PyCFunction_CheckExact(function.get()) || builtin->vectorcall == nullptr) {
    return false;
  }
  runner->before = builtin->vectorcall;
  runner->function = function.release();  // for good
  builtin->vectorcall = run;
  return true;
}

}  // namespace

PyObject* FollowImports(PyObject*, PyObject* args) {
  PyObject *names, *callable;
  if (!PyArg_ParseTuple(args, "OO:follow_imports", &names, &callable)) return nullptr;
  const bool wanted = PyDict_Check(names);
  watched.Set(wanted ? names : nullptr);
  told.Set(wanted ? callable : nullptr);
  if (!wanted) Py_RETURN_TRUE;
  const bool all[] = {Lead(&runners[0], Run<0>), Lead(&runners[1], Run<1>),
                      Lead(&runners[2], Run<2>)};
  return PyBool_FromLong(all[0] && all[1] && all[2]);
}

PyObject* FollowLoads(PyObject*, PyObject* callable) {
  told_of_loads.Set(callable);
  Py_RETURN_NONE;
}

}  // namespace crosscut::python
