// Python.h with what differs between the CPython versions that we serve. Include it first.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>

#include <cstring>
#include <string>

#include "crosscut/ref.h"

#if PY_VERSION_HEX < 0x030a0000 || PY_VERSION_HEX >= 0x03100000
#define CROSSCUT_REFUSED "CPython " PY_VERSION " is not supported (3.10 to 3.15 are)"
#elif defined(Py_GIL_DISABLED)
#define CROSSCUT_REFUSED "free-threaded builds of CPython are not supported"
#endif

namespace crosscut::pycalls {

// "3.12.3": of the running interpreter, whose headers' patch level may be another.
inline const char* RunningVersion() {
  static const std::string version(Py_GetVersion(), std::strcspn(Py_GetVersion(), " "));
  return version.c_str();
}

// The attribute, or null with no error set.
inline Ref Attribute(PyObject* object, const char* name) {
  Ref value(PyObject_GetAttrString(object, name));
  if (!value) PyErr_Clear();
  return value;
}

// UTF-8 of a str; "" with no error set for anything else.
inline const char* Text(PyObject* object) {
  if (object == nullptr || !PyUnicode_Check(object)) return "";
  const char* text = PyUnicode_AsUTF8(object);
  if (text == nullptr) PyErr_Clear();
  return text == nullptr ? "" : text;
}

// The type's own dictionary.
inline Ref DictOf(PyTypeObject* type) {
#if PY_VERSION_HEX >= 0x030c0000
  return Ref(PyType_GetDict(type));
#else
  return Ref::Borrow(type->tp_dict);
#endif
}

// Whether the weak reference is to `object`; null: to nothing any more.
inline bool RefersTo(PyObject* weak, PyObject* object) {
#if PY_VERSION_HEX >= 0x030d0000
  PyObject* target = nullptr;
  PyWeakref_GetRef(weak, &target);
  Py_XDECREF(target);
#else
  PyObject* target = PyWeakref_GetObject(weak);
  if (target == Py_None) target = nullptr;
#endif
  return target == object;
}

// A loaded module, or null with no error set; never imports.
inline Ref LoadedModule(const char* name) {
  PyObject* modules = PyImport_GetModuleDict();
  return Ref::Borrow(modules == nullptr ? nullptr : PyDict_GetItemString(modules, name));
}

}  // namespace crosscut::pycalls
