#include "python/ext/record_on_demand.h"

#include <atomic>

#include "crosscut/crosscut.h"
#include "python/ext/record_operation.h"

namespace crosscut::python {
namespace {

PyObject* window_function = nullptr;
std::atomic<bool> pending{
    false};  // the interpreter has room for few calls, and may not get to them

int OnMainThread(void*) {
  pending.store(false);
  ThisThreadRunsPython();
  crosscut_serve();
  return 0;
}

// On the library's own thread, without the GIL.
int Call(void*) {
  if (!Py_IsInitialized()) return -1;
  if (pending.exchange(true)) return 0;
  const int error = Py_AddPendingCall(&OnMainThread, nullptr);
  if (error != 0) pending.store(false);
  return error;
}

void Window(void*, int begins) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  if (begins) ForgetOpenOperations();
  PyObject* result =
      PyObject_CallFunctionObjArgs(window_function, begins ? Py_True : Py_False, nullptr);
  if (result == nullptr) PyErr_WriteUnraisable(window_function);
  Py_XDECREF(result);
  PyErr_Restore(type, value, traceback);
  PyGILState_Release(state);
}

}  // namespace

PyObject* Arm(PyObject*, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"window",          "run_dir", "memory_bytes", "keep_seconds",
                                "control_percent", "seed",    nullptr};
  PyObject* window = nullptr;
  Py_ssize_t memory = 0;
  unsigned long long seed = 0;
  crosscut_options options = {};
  options.struct_size = sizeof options;
  options.control_percent = -1;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|znddK:arm", const_cast<char**>(names),
                                   &window, &options.run_dir, &memory, &options.keep_seconds,
                                   &options.control_percent, &seed)) {
    return nullptr;
  }
  options.memory_bytes = memory > 0 ? static_cast<size_t>(memory) : 0;
  options.policy = options.keep_seconds > 0 ? CROSSCUT_FLIGHT_RECORDER : CROSSCUT_DROP_NEWEST;
  options.seed = seed;
  Py_INCREF(window);
  Py_XSETREF(window_function, window);
  crosscut_program program = {};
  program.struct_size = sizeof program;
  program.call = Call;
  program.window = Window;
  (void)crosscut_on_demand(&program);
  int code;
  Py_BEGIN_ALLOW_THREADS;
  code = crosscut_arm(&options);
  Py_END_ALLOW_THREADS;
  return PyLong_FromLong(code);
}

}  // namespace crosscut::python
