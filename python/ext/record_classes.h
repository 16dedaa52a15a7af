// Classes of other people's that adapters want to hear of: when they are made, or when they get an
// instance. Nothing of it is to be seen in them.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace crosscut::python {

// follow_classes(root, when, follower): follower(cls) is called for each class below `root` that is
// made from now on: as soon as it is there (`when` is "made"), or before its first instance is
// ("used"). One follower for each of the two; None: nobody is told any more. `root` is kept alive
// until then. RuntimeError where classes cannot be followed.
PyObject* FollowClasses(PyObject* module, PyObject* args);

}  // namespace crosscut::python
