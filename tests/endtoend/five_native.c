/* A library that works as long as it is told to, and tells when that was. */
#include <Python.h>
#include <stdint.h>
#include <time.h>

static int64_t Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* spin(ns) -> (begin, end), ns of CLOCK_MONOTONIC_RAW. Holds the GIL. */
static PyObject* Spin(PyObject* self, PyObject* argument) {
  (void)self;
  const int64_t ns = PyLong_AsLongLong(argument);
  if (ns == -1 && PyErr_Occurred()) return NULL;
  const int64_t begin = Now();
  int64_t now = begin;
  while (now - begin < ns) now = Now();
  return Py_BuildValue("(LL)", (long long)begin, (long long)now);
}

static PyMethodDef methods[] = {{"spin", Spin, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "five_native", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit_five_native(void);
PyMODINIT_FUNC PyInit_five_native(void) { return PyModule_Create(&module); }
