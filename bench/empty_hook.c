// What every recorder of Python calls pays: a hook that does nothing. For ctypes.PyDLL.
#include <Python.h>
#include <frameobject.h>

static int OnEvent(PyObject* object, PyFrameObject* frame, int what, PyObject* argument) {
  (void)object, (void)frame, (void)what, (void)argument;
  return 0;
}

static PyObject* OnCall(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  (void)self, (void)arguments, (void)count;
  Py_RETURN_NONE;
}

static PyMethodDef g_on_call = {"empty_hook", (PyCFunction)(void (*)(void))OnCall, METH_FASTCALL,
                                NULL};

// Up to CPython 3.11: this thread's profile function.
void empty_profile(int on) { PyEval_SetProfile(on ? OnEvent : NULL, NULL); }

// From 3.12: a callback for sys.monitoring; a new reference.
PyObject* empty_callback(void) { return PyCFunction_New(&g_on_call, NULL); }
