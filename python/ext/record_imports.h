// Modules that have just been imported: told where the interpreter runs their code, so that nothing
// of ours is on sys.meta_path, in a module's spec or on the stack below its code.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace crosscut::python {

// follow_imports(watched, told): from now on told(name) is called, unseen, when the code of a
// module has run whose name is a key of the dict `watched`, or that is below a package whose name
// with a dot behind it is one. watched None: nobody is told any more. False where the interpreter's
// functions have been replaced by others.
PyObject* FollowImports(PyObject* module, PyObject* args);

// follow_loads(told): told(None) is called, unseen, after each native module was imported, where
// imports are followed. None: nobody is told any more.
PyObject* FollowLoads(PyObject* module, PyObject* told);

}  // namespace crosscut::python
