#include <cstdint>

#include "crosscut/crosscut.h"
#include "python/ext/record_module.h"
#include "python/ext/record_operation.h"
#include "python/ext/record_stack.h"

namespace crosscut::python {
namespace {

// FNV-1a, and a finaliser that spreads what it leaves in the low bits. Part of what two processes
// agree on: both must run the same Crosscut.
uint64_t Hash(const char* bytes, Py_ssize_t size) {
  uint64_t hash = 0xcbf29ce484222325;
  for (Py_ssize_t i = 0; i < size; ++i) {
    hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3;
  }
  hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93;
  return hash ^ hash >> 32;
}

// With the top bit set it may lead to another process. The lowest bit is the part.
PyObject* Mark(PyObject* const* args, Py_ssize_t count, void (*mark)(uint64_t)) {
  char* bytes = nullptr;
  Py_ssize_t size = 0;
  if (count < 1 || count > 2) {
    PyErr_SetString(PyExc_TypeError, "an arrow is a key and its part");
    return nullptr;
  }
  if (PyBytes_AsStringAndSize(args[0], &bytes, &size) != 0) return nullptr;
  const int part = count > 1 ? PyObject_IsTrue(args[1]) : 0;
  if (part < 0) return nullptr;
  if (crosscut_recording()) {
    ThisThreadRunsPython();
    const uint64_t id = Hash(bytes, size) & ~uint64_t{1};
    mark(id | static_cast<uint64_t>(part) | uint64_t{1} << 63);
  }
  Py_RETURN_NONE;
}

}  // namespace

PyObject* FlowOutFunction(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return Mark(args, count, crosscut_flow_out);
}
PyObject* FlowInFunction(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return Mark(args, count, crosscut_flow_in);
}

PyObject* ArgFunction(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "arg() takes two arguments: key and value");
    return nullptr;
  }
  if (!crosscut_recording()) Py_RETURN_NONE;
  const uint32_t key = NameId(args[0], CROSSCUT_TEXT, CROSSCUT_LAYER_NONE);
  if (key == 0 && PyErr_Occurred()) return nullptr;
  if (PyLong_CheckExact(args[1])) {
    int overflow = 0;
    crosscut_arg(key, PyLong_AsLongLongAndOverflow(args[1], &overflow));
    Py_RETURN_NONE;
  }
  const uint32_t value = NameId(args[1], CROSSCUT_TEXT, CROSSCUT_LAYER_NONE);
  if (value == 0 && PyErr_Occurred()) return nullptr;
  crosscut_arg_name(key, value);
  Py_RETURN_NONE;
}

PyObject* BaseFunction(PyObject*, PyObject* layer) {
  const long number = PyLong_AsLong(layer);
  if (number == -1 && PyErr_Occurred()) return nullptr;
  if (number < CROSSCUT_LAYER_NONE || number > CROSSCUT_OVERHEAD) {
    PyErr_Format(PyExc_ValueError, "base(): there is no layer %ld", number);
    return nullptr;
  }
  if (crosscut_recording()) {
    ThisThreadRunsPython();
    crosscut_base(static_cast<crosscut_layer>(number));
  }
  Py_RETURN_NONE;
}

}  // namespace crosscut::python
