// crosscut._pycalls: what the Python side of Crosscut calls. docs/boundary.md describes it.
#include "python.h"

#ifdef CROSSCUT_REFUSED

PyMODINIT_FUNC PyInit__pycalls(void);
PyMODINIT_FUNC PyInit__pycalls(void) {
  PyErr_SetString(PyExc_ImportError, "crosscut: " CROSSCUT_REFUSED);
  return nullptr;
}

#else

#include <dlfcn.h>

#include <cstring>
#include <string>

#include "call_stack.h"
#include "callbacks.h"
#include "crosscut/crosscut.h"
#include "crosscut/in_python.h"
#include "foreign.h"
#include "identity.h"
#include "jit.h"
#include "patches.h"
#include "plugins/pycalls/search/find.h"
#include "plugins/pycalls/search/known.h"
#include "source.h"

namespace crosscut::pycalls {
namespace {

constexpr const char* kLayers[] = {"",     "python", "framework", "runtime", "simulator",
                                   "data", "comm",   "native",    "idle",    "overhead"};

// A layer's name or number, for PyArg_Parse's "O&".
int ToLayer(PyObject* object, void* to) {
  auto* layer = static_cast<crosscut_layer*>(to);
  if (object == Py_None) return 1;
  if (PyLong_Check(object)) {
    const long number = PyLong_AsLong(object);
    if (number > 0 && number <= CROSSCUT_OVERHEAD) {
      *layer = static_cast<crosscut_layer>(number);
      return 1;
    }
  }
  for (int i = 1; i <= CROSSCUT_OVERHEAD; ++i) {
    if (std::strcmp(Text(object), kLayers[i]) != 0) continue;
    *layer = static_cast<crosscut_layer>(i);
    return 1;
  }
  if (PyErr_Occurred() == nullptr) PyErr_Format(PyExc_ValueError, "no layer %R", object);
  return 0;
}

PyObject* Count(int count) { return count < 0 ? nullptr : PyLong_FromLong(count); }

std::string TypePrefix(PyTypeObject* type) {
  auto* object = reinterpret_cast<PyObject*>(type);
  const Ref module = Attribute(object, "__module__");
  const Ref name = Attribute(object, "__qualname__");
  const std::string home = Text(module.get());
  return (home.empty() || home == "builtins" ? "" : home + ".") + Text(name.get());
}

PyObject* PatchModule(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"module", "layer", "names", "prefix",
                                       "types",  "group", nullptr};
  PyObject* module = nullptr;
  const char* prefix = nullptr;
  int types = 0;
  Choice choice;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O&|OzpI", const_cast<char**>(kNames),
                                   &PyModule_Type, &module, ToLayer, &choice.layer, &choice.names,
                                   &prefix, &types, &choice.group)) {
    return nullptr;
  }
  choice.wrapped = choice.group != kKnownGroup;
  if (prefix == nullptr && (prefix = PyModule_GetName(module)) == nullptr) return nullptr;
  choice.prefix = prefix;
  choice.types = types != 0;
  return Count(Finder().PatchModule(module, choice));
}

PyObject* PatchType(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"type", "layer", "names", "prefix", "group", nullptr};
  PyObject* type = nullptr;
  const char* prefix = nullptr;
  Choice choice;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O&|OzI", const_cast<char**>(kNames),
                                   &PyType_Type, &type, ToLayer, &choice.layer, &choice.names,
                                   &prefix, &choice.group)) {
    return nullptr;
  }
  choice.wrapped = choice.group != kKnownGroup;
  auto* of = reinterpret_cast<PyTypeObject*>(type);
  choice.prefix = prefix != nullptr ? prefix : TypePrefix(of);
  return Count(Finder().PatchType(of, choice));
}

PyObject* PatchSlots(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"type", "layer", "slots", "prefix", nullptr};
  PyObject *type = nullptr, *slots = nullptr;
  const char* prefix = nullptr;
  Choice choice;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O&O|z", const_cast<char**>(kNames),
                                   &PyType_Type, &type, ToLayer, &choice.layer, &slots, &prefix)) {
    return nullptr;
  }
  auto* of = reinterpret_cast<PyTypeObject*>(type);
  choice.prefix = prefix != nullptr ? prefix : TypePrefix(of);
  const Ref names(PySequence_Tuple(slots));
  Finder finder;
  int count = 0;
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names.get()); ++i) {
    count += finder.PatchSlot(of, Text(PyTuple_GET_ITEM(names.get(), i)), choice);
  }
  return names ? Count(count) : nullptr;
}

PyObject* PatchVectorcall(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"object", "layer", "prefix", nullptr};
  PyObject* object = nullptr;
  const char* prefix = nullptr;
  Choice choice;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO&|z", const_cast<char**>(kNames), &object,
                                   ToLayer, &choice.layer, &prefix)) {
    return nullptr;
  }
  const Ref home = Attribute(object, "__module__");
  const char* module = *Text(home.get()) != '\0' ? Text(home.get()) : Py_TYPE(object)->tp_name;
  choice.prefix = prefix != nullptr ? prefix : module;
  return Count(Finder().PatchVectorcall(object, Py_TYPE(object)->tp_name, choice));
}

PyObject* PatchFunction(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"function", "layer", "name", "prefix", "group", nullptr};
  PyObject *function = nullptr, *name = nullptr;
  const char* prefix = nullptr;
  Choice choice;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO&UsI", const_cast<char**>(kNames), &function,
                                   ToLayer, &choice.layer, &name, &prefix, &choice.group)) {
    return nullptr;
  }
  choice.prefix = prefix;
  choice.wrapped = choice.group != kKnownGroup;
  return Count(Finder().PatchFunction(function, name, choice));
}

PyObject* PatchForeign(PyObject*, PyObject* args) {
  PyObject *type = nullptr, *namer = nullptr;
  Choice choice;
  if (!PyArg_ParseTuple(args, "O!OI", &PyType_Type, &type, &namer, &choice.group)) return nullptr;
  auto* of = reinterpret_cast<PyTypeObject*>(type);
  choice.prefix = TypePrefix(of);
  choice.wrapped = true;
  choice.choose = ChooseForeign;
  SetForeignNamer(namer);
  return Count(Finder().PatchSlot(of, "tp_call", choice));
}

PyObject* ForgetForeignFunctions(PyObject*, PyObject*) {
  ForgetForeign();
  Py_RETURN_NONE;
}

// Which symbol of which library an address is: (path, name), "" where that is not known.
PyObject* SymbolAt(PyObject*, PyObject* address) {
  void* at = PyLong_AsVoidPtr(address);
  if (at == nullptr && PyErr_Occurred() != nullptr) return nullptr;
  Dl_info info = {};
  if (dladdr(at, &info) == 0) return Py_BuildValue("(ss)", "", "");
  const bool exact = info.dli_sname != nullptr && info.dli_saddr == at;
  return Py_BuildValue("(ss)", info.dli_fname, exact ? info.dli_sname : "");
}

template <int (*function)(uint32_t group)>
PyObject* OfGroup(PyObject*, PyObject* group) {
  const unsigned long number = PyLong_AsUnsignedLong(group);
  if (PyErr_Occurred() != nullptr) return nullptr;
  return Count(function(static_cast<uint32_t>(number)));
}

PyObject* PatchKnownModule(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"module", "layer", nullptr};
  const char* module = nullptr;
  crosscut_layer layer = CROSSCUT_LAYER_NONE;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|O&", const_cast<char**>(kNames), &module,
                                   ToLayer, &layer)) {
    return nullptr;
  }
  return Count(PatchKnown(module, layer));
}

PyObject* Known(PyObject*, PyObject*) { return KnownModules(); }

PyObject* Operation(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"owner", "name", "operation", "waits", nullptr};
  PyObject* owner = nullptr;
  const char *name = nullptr, *operation = nullptr;
  int waits = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Osz|p", const_cast<char**>(kNames), &owner, &name,
                                   &operation, &waits)) {
    return nullptr;
  }
  void** address = Finder().CodeOf(owner, name);
  const bool done = address != nullptr &&
                    SetOperation(address, operation ? operation : "", waits ? CROSSCUT_WAITS : 0);
  return PyBool_FromLong(done);
}

PyObject* Enable(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"calls", nullptr};
  int calls = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p", const_cast<char**>(kNames), &calls)) {
    return nullptr;
  }
  SetSwitches(Thunks::kIn, calls != 0);
  Py_RETURN_NONE;
}

PyObject* Disable(PyObject*, PyObject*) {
  SetSwitches(Thunks::kOut, false);
  Py_RETURN_NONE;
}

PyObject* StartAllCalls(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* const kNames[] = {"builtins", nullptr};
  int builtins = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p", const_cast<char**>(kNames), &builtins)) {
    return nullptr;
  }
  return PyBool_FromLong(StartCalls(builtins != 0));
}

PyObject* StopAllCalls(PyObject*, PyObject*) {
  StopCalls();
  Py_RETURN_NONE;
}

PyObject* FilesOfFunctions(PyObject*, PyObject*) {
  Ref files(PyDict_New());
  for (const auto& [name, file] : FilesOfNames()) {
    const Ref text(files ? PyUnicode_DecodeFSDefault(file.c_str()) : nullptr);
    if (!text || PyDict_SetItemString(files.get(), name.c_str(), text.get()) < 0) return nullptr;
  }
  return files.release();
}

PyObject* PatchJitType(PyObject*, PyObject* args) {
  PyObject *type = nullptr, *stepped = nullptr;
  unsigned long long inside = 0;
  if (!PyArg_ParseTuple(args, "O!O|K", &PyType_Type, &type, &stepped, &inside)) return nullptr;
  return PyBool_FromLong(
      PatchJit(reinterpret_cast<PyTypeObject*>(type), stepped,
               reinterpret_cast<int32_t* (*)()>(static_cast<uintptr_t>(inside))));
}

PyObject* UnpatchJitType(PyObject*, PyObject*) {
  UnpatchJit();
  Py_RETURN_NONE;
}

PyObject* UnpatchAll(PyObject*, PyObject*) {
  RemoveAll();
  Py_RETURN_NONE;
}

PyObject* GetStats(PyObject*, PyObject*) {
  const PatchStats& s = Stats();
  return Py_BuildValue(
      "{s:L,s:L,s:L,s:L,s:L,s:O,s:O}", "entries", static_cast<long long>(s.entries), "read_only",
      static_cast<long long>(s.read_only), "full", static_cast<long long>(s.full), "unreadable",
      static_cast<long long>(s.unreadable), "foreign", static_cast<long long>(s.foreign), "enabled",
      PatchesAre() == Thunks::kIn ? Py_True : Py_False, "calls", CallsIn() ? Py_True : Py_False);
}

template <class F>
PyCFunction AsMethod(F function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

constexpr int kWithKeywords = METH_VARARGS | METH_KEYWORDS;

PyMethodDef g_methods[] = {
    {"patch_module", AsMethod(PatchModule), kWithKeywords,
     "patch_module(module, layer, names=None, prefix=None, types=False, group=0) -> count"},
    {"patch_type", AsMethod(PatchType), kWithKeywords,
     "patch_type(type, layer, names=None, prefix=None, group=0) -> count"},
    {"patch_function", AsMethod(PatchFunction), kWithKeywords,
     "patch_function(function, layer, name, prefix, group) -> count"},
    {"patch_foreign", PatchForeign, METH_VARARGS,
     "patch_foreign(type, namer, group) -> count: functions of shared libraries"},
    {"forget_foreign", ForgetForeignFunctions, METH_NOARGS, "forget_foreign(): named anew"},
    {"symbol_at", SymbolAt, METH_O, "symbol_at(address) -> (library, symbol)"},
    {"count_group", OfGroup<CountGroup>, METH_O, "count_group(group) -> patches"},
    {"remove_group", OfGroup<RemoveGroup>, METH_O, "remove_group(group) -> patches it had"},
    {"patch_slots", AsMethod(PatchSlots), kWithKeywords,
     "patch_slots(type, layer, slots, prefix=None) -> count"},
    {"patch_vectorcall", AsMethod(PatchVectorcall), kWithKeywords,
     "patch_vectorcall(object, layer, prefix=None) -> count"},
    {"patch_known", AsMethod(PatchKnownModule), kWithKeywords,
     "patch_known(module_name, layer=None) -> count"},
    {"known_modules", Known, METH_NOARGS, "known_modules() -> names for patch_known"},
    {"set_operation", AsMethod(Operation), kWithKeywords,
     "set_operation(owner, name, operation, waits=False) -> bool"},
    {"enable", AsMethod(Enable), kWithKeywords, "enable(calls=False): all thunks in"},
    {"disable", Disable, METH_NOARGS, "disable(): all originals back"},
    {"start_calls", AsMethod(StartAllCalls), kWithKeywords,
     "start_calls(builtins=False) -> bool: every Python function, every builtin function"},
    {"stop_calls", StopAllCalls, METH_NOARGS, "stop_calls()"},
    {"files", FilesOfFunctions, METH_NOARGS, "files() -> {name of a Python function: file}"},
    {"patch_jit", PatchJitType, METH_VARARGS, "patch_jit(type, stepped, inside=0) -> bool"},
    {"unpatch_jit", UnpatchJitType, METH_NOARGS, "unpatch_jit()"},
    {"unpatch_all", UnpatchAll, METH_NOARGS, "unpatch_all(): restored and forgotten"},
    {"stats", GetStats, METH_NOARGS, "stats() -> dict"},
    {nullptr, nullptr, 0, nullptr},
};

std::string PackageDir(PyObject* module) {
  const Ref file = Attribute(module, "__file__");
  const std::string path = Text(file.get());
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// Originals are put back before the interpreter takes its modules apart, and behind a closed door,
// so that no other thread puts thunks in again.
bool RegisterAtExit(PyObject* module) {
  static bool done = false;
  if (done) return true;
  const Ref unpatch = Attribute(module, "unpatch_all");
  Ref atexit(PyImport_ImportModule("atexit"));
  Ref registered(atexit && unpatch
                     ? PyObject_CallMethod(atexit.get(), "register", "O", unpatch.get())
                     : nullptr);
  return done = registered && PythonRuns::CloseAtExit();
}

int Exec(PyObject* module) {
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError, "crosscut: sub-interpreters are not supported");
    return -1;
  }
  if (!InitCallStack(PackageDir(module)) || !InitCallbacks() || !RegisterAtExit(module)) {
    if (PyErr_Occurred() == nullptr) {
      PyErr_SetString(PyExc_ImportError, "crosscut: the interpreter has no room for our state");
    }
    return -1;
  }
  if (!AddSource()) {
    PyErr_Format(PyExc_ImportError, "crosscut: %s", crosscut_error());
    return -1;
  }
  return 0;
}

PyModuleDef_Slot g_slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(Exec)},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, nullptr},
};

PyModuleDef g_module = {PyModuleDef_HEAD_INIT,
                        "crosscut._pycalls",
                        "The boundary between Python and native code.",
                        0,
                        g_methods,
                        g_slots,
                        nullptr,
                        nullptr,
                        nullptr};

}  // namespace
}  // namespace crosscut::pycalls

PyMODINIT_FUNC PyInit__pycalls(void);
PyMODINIT_FUNC PyInit__pycalls(void) { return PyModuleDef_Init(&crosscut::pycalls::g_module); }

#endif
