// crosscut._samples: what the Python side of Crosscut calls. docs/samples.md describes it.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if PY_VERSION_HEX < 0x030a0000 || PY_VERSION_HEX >= 0x03100000

PyMODINIT_FUNC PyInit__samples(void);
PyMODINIT_FUNC PyInit__samples(void) {
  PyErr_SetString(PyExc_ImportError, "crosscut: samples need CPython 3.10 to 3.15");
  return nullptr;
}

#else

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "crosscut/crosscut.h"
#include "sampler.h"

namespace crosscut::samples {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

Sampler* g_sampler = nullptr;  // never destroyed: its thread runs on
bool g_allowed = false;        // start() was called, and stop() was not
bool g_level = false;          // the recorder's level asks for samples

// "3.12.3": of the running interpreter, whose headers' patch level may be another.
const char* RunningVersion() {
  static const std::string version(Py_GetVersion(), std::strcspn(Py_GetVersion(), " "));
  return version.c_str();
}

// Levels come on any thread, which the GIL does not keep from the others where there is none.
#ifdef Py_GIL_DISABLED
PyMutex g_switching = {};
void Lock() { PyMutex_Lock(&g_switching); }
void Unlock() { PyMutex_Unlock(&g_switching); }
#else
void Lock() {}
void Unlock() {}
#endif

void Set(bool* what, bool on) {
  Lock();
  *what = on;
  if (g_sampler != nullptr) g_sampler->Switch(g_allowed && g_level);
  Unlock();
}

int SetLevel(void*, crosscut_level level) {
  if (g_sampler != nullptr) g_sampler->SetStepper();
  Set(&g_level, level >= CROSSCUT_LEVEL_BOUNDARY);
  return CROSSCUT_OK;
}

bool AddSource() {
  crosscut_source source = {};
  source.struct_size = sizeof source;
  source.name = "samples";
  source.version = RunningVersion();
  source.set_level = SetLevel;
  source.marks = 1;
  return crosscut_source_add(&source) > 0;
}

// UTF-8, as it stands in the interpreter's strings of file names.
bool TakeText(PyObject* object, std::string* out) {
  Py_ssize_t bytes = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &bytes);
  if (text != nullptr) out->assign(text, static_cast<size_t>(bytes));
  return text != nullptr;
}

struct StartArguments {
  int rate = 0;
  bool asked = false;
  OwnCode own;
};

bool TakeTexts(PyObject* tuple, std::vector<std::string>* out) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    if (!TakeText(PyTuple_GET_ITEM(tuple, i), &out->emplace_back())) return false;
  }
  return true;
}

bool Parse(PyObject* args, StartArguments* out) {
  int asked = 0;
  PyObject *here, *folders, *others, *program;
  if (!PyArg_ParseTuple(args, "ipUO!O!U", &out->rate, &asked, &here, &PyTuple_Type, &folders,
                        &PyTuple_Type, &others, &program)) {
    return false;
  }
  if (out->rate < 1 || out->rate > 1000) {
    PyErr_Format(PyExc_ValueError, "samples per second: 1 to 1000, not %d", out->rate);
    return false;
  }
  out->asked = asked != 0;
  OwnCode& own = out->own;
  return TakeText(here, &own.here) && TakeTexts(folders, &own.folders) &&
         TakeTexts(others, &own.others) && TakeText(program, &own.program);
}

bool Bring(StartArguments* arguments) {
  auto sampler = std::make_unique<Sampler>(std::move(arguments->own));
  const char* problem = "";
  if (!sampler->Init(&problem)) {
    PyErr_SetString(PyExc_RuntimeError, problem);
    return false;
  }
  g_sampler = sampler.release();
  bool added;
  Py_BEGIN_ALLOW_THREADS;
  added = AddSource();
  Py_END_ALLOW_THREADS;
  if (!added) {
    PyErr_SetString(PyExc_RuntimeError, crosscut_error());
    return false;
  }
  crosscut_source_state("samples", RunningVersion(), "on", "");
  return true;
}

PyObject* Start(PyObject*, PyObject* args) {
  StartArguments arguments;
  if (!Parse(args, &arguments)) return nullptr;
  if (g_sampler == nullptr && !Bring(&arguments)) return nullptr;
  g_sampler->SetKind(kSecondNs / arguments.rate, arguments.asked);
  Set(&g_allowed, true);
  Py_RETURN_NONE;
}

PyObject* Stop(PyObject*, PyObject*) {
  Set(&g_allowed, false);
  Py_RETURN_NONE;
}

PyObject* AfterFork(PyObject*, PyObject*) {
#ifdef Py_GIL_DISABLED
  g_switching = {};  // whoever held it may be missing
#endif
  if (g_sampler != nullptr) g_sampler->AfterFork();
  Py_RETURN_NONE;
}

PyMethodDef g_methods[] = {
    {"start", Start, METH_VARARGS,
     "start(samples_per_second, asked, here, folders, others): in sessions, from now on; "
     "own_code.h "
     "has the rest"},
    {"stop", Stop, METH_NOARGS, "stop()"},
    {"after_fork", AfterFork, METH_NOARGS, "after_fork(): in the child"},
    {nullptr, nullptr, 0, nullptr},
};

int Exec(PyObject*) {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return 0;
  PyErr_SetString(PyExc_ImportError, "crosscut: sub-interpreters are not supported");
  return -1;
}

PyModuleDef_Slot g_slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(Exec)},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, nullptr},
};

PyModuleDef g_module = {PyModuleDef_HEAD_INIT,
                        "crosscut._samples",
                        "What threads do, looked at so many times a second.",
                        0,
                        g_methods,
                        g_slots,
                        nullptr,
                        nullptr,
                        nullptr};

}  // namespace
}  // namespace crosscut::samples

PyMODINIT_FUNC PyInit__samples(void);
PyMODINIT_FUNC PyInit__samples(void) { return PyModuleDef_Init(&crosscut::samples::g_module); }

#endif
