#include <atomic>

#include "crosscut/crosscut.h"
#include "crosscut/in_python.h"
#include "python/ext/record_module.h"
#include "python/ext/record_operation.h"
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
  const Ref window = window_function.Get();
  if (!Ref(PyObject_CallOneArg(window.get(), begins))) PyErr_WriteUnraisable(window.get());
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
  window_function.Set(window);
  crosscut_program program = {};
  program.struct_size = sizeof program;
  program.call = Call;
  program.window = Window;
  (void)crosscut_on_demand(&program);
  return PyLong_FromLong(Apart([&] { return crosscut_arm(&options); }));
}

}  // namespace crosscut::python
