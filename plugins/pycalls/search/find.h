// From Python objects to the pointers that are patched: method tables of modules and types, slots,
// vectorcall pointers. Under the GIL. Nothing found raises no error.
#pragma once

#include <cstdint>
#include <string>

#include "crosscut/crosscut.h"
#include "plugins/pycalls/patches.h"
#include "plugins/pycalls/python.h"

namespace crosscut::pycalls {

// What to patch of an object and how to report it.
struct Choice {
  crosscut_layer layer = CROSSCUT_NATIVE;
  unsigned flags = 0;
  std::string prefix;         // names read prefix + "." + attribute
  PyObject* names = nullptr;  // null: all; callable: a predicate; else a container of names
  bool types = false;         // of a module: also the types that it defines
  uint32_t group = kKnownGroup;
  bool wrapped = false;    // a user's wrap(): of types also slots and properties
  bool callbacks = false;  // Python that it calls back is told apart, as with `wrapped`
  decltype(Extra::choose) choose = nullptr;
};

class Finder {
 public:
  // Each returns the number of patches made or relabelled, or -1 with a Python error set (which
  // only a predicate of the user can cause).
  int PatchModule(PyObject* module, const Choice& choice);
  // The type's own dictionary; never what it inherits.
  int PatchType(PyTypeObject* type, const Choice& choice);
  // The slot of that name, of the type and of the subclasses that copied it. Unknown or empty
  // slots count as 0.
  int PatchSlot(PyTypeObject* type, const char* slot, const Choice& choice);
  // One object's vectorcall pointer: ufuncs, nanobind functions and the like; `otherwise` is what
  // it reads as where it has no name.
  int PatchVectorcall(PyObject* object, const char* otherwise, const Choice& choice);
  // A native function or method by itself, however it was reached; `name` is what it reads as
  // where it has none of its own.
  int PatchFunction(PyObject* function, PyObject* name, const Choice& choice);

  // Where the code pointer of attribute `name` of a module or type stands; null if there is none.
  void** CodeOf(PyObject* owner, const char* name);

 private:
  PyMethodDef* DefOf(PyObject* object) const;
  bool MayPatch(void** address);
  int PatchPointer(void** address, PyObject* holder, const char* name, const Choice& choice);
  int PatchProperty(PyObject* property, PyObject* name, const Choice& choice);
  int PatchWorkSlots(PyTypeObject* type, const Choice& choice);
  int PatchItem(PyObject* name, PyObject* value, PyObject* module, const Choice& choice);
  int PatchItems(PyObject* dict, PyObject* module, const Choice& choice);

  uintptr_t writable_page_ = 0;  // its number; 0: none is known
};

}  // namespace crosscut::pycalls
