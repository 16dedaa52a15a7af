// Classes of other people's that adapters want to hear of: when they are made, and when they get an
// instance.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace crosscut::python {

// follow_class(owner, name, follower): a builtin function to be the `name` of the class `owner`,
// "__new__" or (in a classmethod) "__init_subclass__". It passes calls on to what is behind `owner`
// and calls follower(cls) when that has succeeded. follower None: nobody is told any more; returns
// None. The class is kept alive until then.
PyObject* FollowClass(PyObject* module, PyObject* args);

}  // namespace crosscut::python
