#include <cstring>

#include "python/ext/record_module.h"
#include "python/ext/record_shared.h"
#include "python/ext/record_unseen.h"

namespace crosscut::python {
namespace {

enum When { kMade, kUsed };

SharedDict followers[2];  // root -> callable, for each of When
PyInterpreterState* home = nullptr;
newfunc make_class = nullptr;  // CPython's own

// Calls tell(follower) of each that follows a root of `cls`. False where one says so.
template <class Telling>
bool EachFollower(When when, PyTypeObject* cls, Telling tell) {
  if (followers[when].size() == 0) return true;
  const Ref roots = followers[when].Keys();
  if (!roots) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(roots.get()); ++i) {
    PyObject* root = PyList_GET_ITEM(roots.get(), i);
    if (!PyType_IsSubtype(cls, reinterpret_cast<PyTypeObject*>(root))) continue;
    const Ref follower = followers[when].Get(root);
    if (follower && !tell(follower.get())) return false;
  }
  return true;
}

// Told of `cls`. False with an exception where the program was interrupted.
bool Tell(When when, PyTypeObject* cls) {
  auto* object = reinterpret_cast<PyObject*>(cls);
  return EachFollower(when, cls, [&](PyObject* follower) {
    return TellUnseen(follower, object, object) != nullptr;
  });
}

// Stands in a class until its first instance is made. Classes do not inherit it.
PyObject* AllocateFirst(PyTypeObject* cls, Py_ssize_t items) {
  cls->tp_alloc = PyType_GenericAlloc;
  return Tell(kUsed, cls) ? cls->tp_alloc(cls, items) : nullptr;
}

PyObject* MakeClass(PyTypeObject* meta, PyObject* args, PyObject* keywords) {
  Ref made(make_class(meta, args, keywords));
  if (!made || !PyType_Check(made.get()) || PyInterpreterState_Get() != home) return made.release();
  auto* cls = reinterpret_cast<PyTypeObject*>(made.get());
  if (!Tell(kMade, cls)) return nullptr;
  EachFollower(kUsed, cls, [&](PyObject*) {
    if (cls->tp_alloc == PyType_GenericAlloc) cls->tp_alloc = AllocateFirst;
    return true;
  });
  return made.release();
}

// Metaclasses have the function that makes classes from `type`, and it checks that they do.
bool Replace(PyTypeObject* meta) {
  if (meta->tp_new != make_class) return true;
  const Ref below(
      PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyType_Type), "__subclasses__", "O", meta));
  if (!below) return false;
  meta->tp_new = MakeClass;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(below.get()); ++i) {
    if (!Replace(reinterpret_cast<PyTypeObject*>(PyList_GET_ITEM(below.get(), i)))) return false;
  }
  return true;
}

// For good: a metaclass that is made meanwhile keeps ours. False with an exception.
bool FollowMaking() {
  if (make_class != nullptr) return true;
  home = PyInterpreterState_Get();
#if PY_VERSION_HEX >= 0x030c0000
  if (PyInterpreterState_Next(PyInterpreterState_Head()) != nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "another interpreter runs, whose metaclasses are its own");
    return false;
  }
#endif
  make_class = PyType_Type.tp_new;
  return Replace(&PyType_Type);
}

}  // namespace

PyObject* FollowClasses(PyObject*, PyObject* args) {
  PyObject *root, *follower;
  const char* when;
  if (!PyArg_ParseTuple(args, "O!sO:follow_classes", &PyType_Type, &root, &when, &follower)) {
    return nullptr;
  }
  SharedDict& known = followers[std::strcmp(when, "used") == 0 ? kUsed : kMade];
  if (!followers[kMade].Make() || !followers[kUsed].Make() || !FollowMaking()) return nullptr;
  if (follower == Py_None) {
    known.Remove(root);
  } else if (!known.Set(root, follower)) {
    return nullptr;
  }
  Py_RETURN_NONE;
}

}  // namespace crosscut::python
