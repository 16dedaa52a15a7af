#include "python/ext/record_classes.h"

#include <cstring>

#include "python/ext/record_shared.h"
#include "python/ext/record_unseen.h"

namespace crosscut::python {
namespace {

enum Which { kNew, kInitSubclass };

SharedDict followers[2];  // class -> callable, for each of Which

PyObject* Behind(PyObject* owner, PyObject* cls, const char* name) {
  PyObject* super =
      PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(&PySuper_Type), owner, cls, nullptr);
  PyObject* next = super == nullptr ? nullptr : PyObject_GetAttrString(super, name);
  Py_XDECREF(super);
  return next;
}

PyObject* Told(Which which, PyObject* owner, PyObject* cls, PyObject* result) {
  PyObject* follower = result == nullptr ? nullptr : followers[which].Get(owner);
  if (follower == nullptr) return result;
  result = TellUnseen(follower, cls, result);
  Py_DECREF(follower);
  return result;
}

// A class whose first base has a __new__ takes arguments without an __init__ for them, unless we
// refuse them as `object` does.
bool TakesThem(PyObject* cls) {
  const auto* type = reinterpret_cast<PyTypeObject*>(cls);
  if (type->tp_init != PyBaseObject_Type.tp_init) return true;
  PyErr_Format(PyExc_TypeError, "%.200s() takes no arguments", type->tp_name);
  return false;
}

PyObject* Create(PyObject* next, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  PyObject* plain =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyBaseObject_Type), "__new__");
  const bool of_object = next == plain;
  Py_XDECREF(plain);
  if (!of_object) return PyObject_Vectorcall(next, args, static_cast<size_t>(count), keywords);
  const bool more = count > 1 || (keywords != nullptr && PyTuple_GET_SIZE(keywords) > 0);
  if (more && !TakesThem(args[0])) return nullptr;
  return PyObject_Vectorcall(next, args, 1, nullptr);
}

PyObject* New(PyObject* owner, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  if (count < 1 || !PyType_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "__new__(): the first argument must be a class");
    return nullptr;
  }
  PyObject* next = Behind(owner, args[0], "__new__");
  if (next == nullptr) return nullptr;
  PyObject* result = Create(next, args, count, keywords);
  Py_DECREF(next);
  return Told(kNew, owner, args[0], result);
}

PyObject* InitSubclass(PyObject* owner, PyObject* const* args, Py_ssize_t count,
                       PyObject* keywords) {
  if (count < 1 || !PyType_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "__init_subclass__(): the first argument must be a class");
    return nullptr;
  }
  PyObject* next = Behind(owner, args[0], "__init_subclass__");
  if (next == nullptr) return nullptr;
  PyObject* result = PyObject_Vectorcall(next, args + 1, static_cast<size_t>(count - 1), keywords);
  Py_DECREF(next);
  return Told(kInitSubclass, owner, args[0], result);
}

PyMethodDef definitions[] = {
    {"__new__", Function(New), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"__init_subclass__", Function(InitSubclass), METH_FASTCALL | METH_KEYWORDS, nullptr}};

}  // namespace

PyObject* FollowClass(PyObject*, PyObject* args) {
  PyObject *owner, *follower;
  const char* name;
  if (!PyArg_ParseTuple(args, "O!sO:follow_class", &PyType_Type, &owner, &name, &follower)) {
    return nullptr;
  }
  const Which which = std::strcmp(name, "__new__") == 0 ? kNew : kInitSubclass;
  SharedDict& known = followers[which];
  if (!known.Make()) return nullptr;
  if (follower == Py_None) {
    known.Remove(owner);
    Py_RETURN_NONE;
  }
  if (!known.Set(owner, follower)) return nullptr;
  return PyCFunction_New(&definitions[which], owner);
}

}  // namespace crosscut::python
