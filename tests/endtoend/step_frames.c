// Counts the frames of Python that are run from a given folder, whether or not a tracer may see
// them: ctypes.PyDLL of it, then begin(folder) and the dictionary that end() gives.
#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1
#include <Python.h>
#if PY_VERSION_HEX < 0x030c0000
#include <internal/pycore_frame.h>
#endif

#define EXPORT __attribute__((visibility("default")))

static PyObject *folder, *counts;

static PyObject* CodeOf(struct _PyInterpreterFrame* frame) {
#if PY_VERSION_HEX < 0x030c0000
  Py_INCREF(frame->f_code);
  return (PyObject*)frame->f_code;
#else
  return PyUnstable_InterpreterFrame_GetCode(frame);
#endif
}

static void Count(PyCodeObject* code) {
  if (PyUnicode_Tailmatch(code->co_filename, folder, 0, PY_SSIZE_T_MAX, -1) != 1) return;
  PyObject* name = PyUnicode_FromFormat("%U:%U", code->co_filename, code->co_name);
  PyObject* before = PyDict_GetItem(counts, name);
  PyObject* count = PyLong_FromLong(before == NULL ? 1 : PyLong_AsLong(before) + 1);
  PyDict_SetItem(counts, name, count);
  Py_DECREF(count);
  Py_DECREF(name);
}

static PyObject* Evaluate(PyThreadState* thread, struct _PyInterpreterFrame* frame, int raises) {
  PyObject* code = CodeOf(frame);
  Count((PyCodeObject*)code);
  Py_DECREF(code);
  return _PyEval_EvalFrameDefault(thread, frame, raises);
}

EXPORT void begin(PyObject* of) {
  Py_INCREF(of);
  folder = of;
  counts = PyDict_New();
  _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), Evaluate);
}

EXPORT PyObject* end(void) {
  _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), _PyEval_EvalFrameDefault);
  return counts;
}
