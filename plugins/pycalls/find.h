// From Python objects to the pointers that are patched: method tables of modules and types, slots,
// vectorcall pointers. Under the GIL. Nothing found raises no error.
#pragma once

#include <string>

#include "crosscut/crosscut.h"
#include "memory_map.h"
#include "python.h"

namespace crosscut::pycalls {

// What to patch of an object and how to report it.
struct Choice {
  crosscut_layer layer = CROSSCUT_NATIVE;
  unsigned flags = 0;
  std::string prefix;         // names read prefix + "." + attribute
  PyObject* names = nullptr;  // null: all; callable: a predicate; else a container of names
  bool types = false;         // of a module: also the types that it defines
};

class Finder {
 public:
  Finder() : map_(MemoryMap::Read()) {}

  // Each returns the number of patches made or relabelled, or -1 with a Python error set (which
  // only a predicate of the user can cause).
  int PatchModule(PyObject* module, const Choice& choice);
  // The type's own dictionary; never what it inherits.
  int PatchType(PyTypeObject* type, const Choice& choice);
  // The slot of that name, of the type and of the subclasses that copied it. Unknown or empty
  // slots count as 0.
  int PatchSlot(PyTypeObject* type, const char* slot, const Choice& choice);
  // One object's vectorcall pointer: ufuncs, nanobind functions and the like.
  int PatchVectorcall(PyObject* object, const Choice& choice);

  // Where the code pointer of attribute `name` of a module or type stands; null if there is none.
  void** CodeOf(PyObject* owner, const char* name);

 private:
  PyMethodDef* DefOf(PyObject* object) const;
  int PatchObject(PyObject* object, PyObject* name, const Choice& choice);
  int PatchPointer(void** address, PyObject* holder, const char* name, const Choice& choice);
  int PatchItems(PyObject* dict, PyObject* module, const Choice& choice);

  MemoryMap map_;
};

}  // namespace crosscut::pycalls
