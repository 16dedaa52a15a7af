#include "python/ext/record_on_demand.h"

#include <atomic>

#include "crosscut/crosscut.h"
#include "crosscut/in_python.h"
#include "python/ext/record_operation.h"
#include "python/ext/record_options.h"
#include "python/ext/record_shared.h"
#include "python/ext/record_unseen.h"

namespace crosscut::python {
namespace {

SharedRef window_function;
std::atomic<bool> pending{
    false};  // the interpreter has room for few calls, and may not get to them

int OnMainThread(void*) {
  pending.store(false);
  ThisThreadRunsPython();
  const Detached detached;
  crosscut_serve();
  return 0;
}

// On the library's own thread, without the GIL.
int Call(void*) {
  const PythonRuns runs;
  if (!runs) return -1;
  if (pending.exchange(true)) return 0;
  const int error = Py_AddPendingCall(&OnMainThread, nullptr);
  if (error != 0) pending.store(false);
  return error;
}

void CallWindow(PyObject* begins) {
  const Unseen unseen;
  PyObject* const window = window_function.Get();
  PyObject* result = PyObject_CallFunctionObjArgs(window, begins, nullptr);
  if (result == nullptr) PyErr_WriteUnraisable(window);
  Py_XDECREF(result);
  Py_DECREF(window);
}

void Window(void*, int begins) {
  const InPython python;
  if (!python) return;
  if (begins) ForgetOpenOperations();
  CallWindow(begins ? Py_True : Py_False);
}

}  // namespace

PyObject* Arm(PyObject*, PyObject* args, PyObject* keywords) {
  PyObject* window = nullptr;
  crosscut_options options;
  if (!PyArg_ParseTuple(args, "O:arm", &window) || !ParseOptions(keywords, &options)) {
    return nullptr;
  }
  Py_INCREF(window);
  window_function.Set(window);
  crosscut_program program = {};
  program.struct_size = sizeof program;
  program.call = Call;
  program.window = Window;
  (void)crosscut_on_demand(&program);
  return PyLong_FromLong(Apart([&] { return crosscut_arm(&options); }));
}

}  // namespace crosscut::python
