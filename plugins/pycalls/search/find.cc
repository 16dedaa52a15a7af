#include "plugins/pycalls/search/find.h"

#include <cstring>
#include <string_view>

#include "plugins/pycalls/identity.h"
#include "plugins/pycalls/patches.h"
#include "plugins/pycalls/search/access.h"
#include "plugins/pycalls/slots.h"

namespace crosscut::pycalls {
namespace {

// Object construction, pickling and the protocols by which a library asks a class about itself:
// CPython, torch and NumPy compare or cache some of these, and none of them is where time goes.
constexpr const char* kLeftAlone[] = {
    "__new__",
    "__init_subclass__",
    "__subclasshook__",
    "__reduce__",
    "__reduce_ex__",
    "__setstate__",
    "__getstate__",
    "__getnewargs__",
    "__getnewargs_ex__",
    "__class_getitem__",
    "__dir__",
    "__sizeof__",
    "__instancecheck__",
    "__subclasscheck__",
    "__del__",
    "__prepare__",
    "__getattribute__",
    "__getattr__",
    "__setattr__",
    "__set_name__",
    "__get__",
    "__set__",
    "__torch_function__",
    "__torch_dispatch__",
    "__array_function__",
    "__array_ufunc__",
    "__array_finalize__",
    "__array_wrap__",
};

bool LeftAlone(const char* name) {
  if (name[0] != '_' || name[1] != '_') return false;  // thousands are asked about
  for (const char* left : kLeftAlone) {
    if (std::strcmp(name, left) == 0) return true;
  }
  return false;
}

// 1 chosen, 0 not, -1 error.
int Chosen(const Choice& choice, PyObject* name) {
  if (choice.names == nullptr || choice.names == Py_None) return 1;
  if (!PyCallable_Check(choice.names)) return PySequence_Contains(choice.names, name);
  Ref verdict(PyObject_CallOneArg(choice.names, name));
  return verdict ? PyObject_IsTrue(verdict.get()) : -1;
}

std::string_view TopPackage(std::string_view module) {
  module = module.substr(0, module.find('.'));
  while (module.starts_with('_')) module.remove_prefix(1);
  return module;
}

// A function that a module merely imported from elsewhere keeps its own home's layer.
bool AtHome(PyObject* function, PyObject* module) {
  if (module == nullptr) return true;
  const char* home = Text(Attribute(function, "__module__").get());
  const char* here = PyModule_GetName(module);
  if (here == nullptr) PyErr_Clear();
  return here == nullptr || *home == '\0' || TopPackage(home) == TopPackage(here);
}

bool TypeIsNamed(PyObject* object, std::string_view name) {
  std::string_view type = Py_TYPE(object)->tp_name;
  return type.substr(type.rfind('.') + 1) == name;
}

// Callables that only their own vectorcall pointer leads to.
bool CallsByPointer(PyObject* object) {
  return TypeIsNamed(object, "ufunc") || TypeIsNamed(object, "nb_func") ||
         TypeIsNamed(object, "nb_method") || TypeIsNamed(object, "PjitFunction");
}

}  // namespace

PyMethodDef* Finder::DefOf(PyObject* object) const {
  if (PyCFunction_Check(object)) return reinterpret_cast<PyCFunctionObject*>(object)->m_ml;
  if (Py_IS_TYPE(object, &PyMethodDescr_Type) || Py_IS_TYPE(object, &PyClassMethodDescr_Type)) {
    return reinterpret_cast<PyMethodDescrObject*>(object)->d_method;
  }
  if (Py_IS_TYPE(object, &PyStaticMethod_Type) || Py_IS_TYPE(object, &PyClassMethod_Type)) {
    Ref inner = Attribute(object, "__func__");  // the holder keeps it
    return inner ? DefOf(inner.get()) : nullptr;
  }
  if (PyInstanceMethod_Check(object)) return DefOf(PyInstanceMethod_GET_FUNCTION(object));
  if (!TypeIsNamed(object, "cython_function_or_method")) return nullptr;
  // Cython's functions begin as a PyCFunctionObject, except under the limited API: look twice.
  PyMethodDef* def = reinterpret_cast<PyCFunctionObject*>(object)->m_ml;
  if (!MayRead(def, sizeof *def) || !MayRead(def->ml_name, 1)) return nullptr;
  const Ref name = Attribute(object, "__name__");
  return std::strncmp(Text(name.get()), def->ml_name, 256) == 0 ? def : nullptr;
}

// Tables have their entries side by side.
bool Finder::MayPatch(void** address) {
  const uintptr_t page = reinterpret_cast<uintptr_t>(address) / kPage;
  if (page != writable_page_ && MayWrite(address)) writable_page_ = page;
  return page == writable_page_;
}

int Finder::PatchPointer(void** address, PyObject* holder, const char* name, const Choice& choice) {
  if (!MayPatch(address)) {
    ++Stats().read_only;
    return 0;
  }
  if (PatchesAre() != Thunks::kOut) GuardIdentity();
  const Label label = {choice.prefix + "." + name, choice.layer, choice.flags,
                       choice.wrapped || choice.callbacks, choice.choose};
  return AddPatch(address, holder, label, choice.group);
}

int Finder::PatchFunction(PyObject* object, PyObject* name, const Choice& choice) {
  const char* text = Text(name);
  if (LeftAlone(text)) return 0;
  PyMethodDef* def = DefOf(object);
  // One table entry is behind all that a class keeps of __new__ (enum's _new_member_).
  if (def != nullptr && def->ml_name != nullptr && LeftAlone(def->ml_name)) return 0;
  if (def == nullptr && !CallsByPointer(object)) {
    if (TypeIsNamed(object, "cython_function_or_method")) ++Stats().unreadable;
    return 0;
  }
  const int chosen = Chosen(choice, name);
  if (chosen <= 0) return chosen;
  if (def == nullptr) return PatchVectorcall(object, text, choice);
  // By the table's own name: an entry may be reached by several attributes.
  const bool named = def->ml_name != nullptr && *def->ml_name != '\0';
  return PatchPointer(reinterpret_cast<void**>(&def->ml_meth), object, named ? def->ml_name : text,
                      choice);
}

int Finder::PatchProperty(PyObject* property, PyObject* name, const Choice& choice) {
  int count = 0;
  for (const char* part : {"fget", "fset"}) {
    const Ref function = Attribute(property, part);
    const int done = function ? PatchFunction(function.get(), name, choice) : 0;
    if (done < 0) return -1;
    count += done;
  }
  return count;
}

int Finder::PatchWorkSlots(PyTypeObject* type, const Choice& choice) {
  int count = 0;
  for (int slot = 0; slot < SlotCount(); ++slot) {
    void** address = IsWork(slot) ? SlotAddress(type, slot) : nullptr;
    if (address == nullptr || *address == nullptr || LeftAlone(SlotMethod(slot))) continue;
    if (!SlotDescriptor(type, slot, Original(*address))) continue;
    const Ref name(PyUnicode_FromString(SlotMethod(slot)));
    const int chosen = name ? Chosen(choice, name.get()) : -1;
    if (chosen < 0) return -1;
    if (chosen > 0) count += PatchSlot(type, SlotName(slot), choice);
  }
  return count;
}

int Finder::PatchItem(PyObject* name, PyObject* value, PyObject* module, const Choice& choice) {
  if (!PyUnicode_Check(name) || !AtHome(value, module)) return 0;
  if (choice.wrapped && Py_IS_TYPE(value, &PyProperty_Type)) {
    return PatchProperty(value, name, choice);
  }
  if (!PyType_Check(value)) return PatchFunction(value, name, choice);
  if (module == nullptr || !choice.types) return 0;
  Choice inner = choice;
  inner.prefix += std::string(".") + Text(name);
  return PatchType(reinterpret_cast<PyTypeObject*>(value), inner);
}

int Finder::PatchItems(PyObject* dict, PyObject* module, const Choice& choice) {
  Ref items(PyDict_Items(dict));  // a copy: a predicate may change the dictionary
  if (!items) return -1;
  int count = 0;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
    PyObject* pair = PyList_GET_ITEM(items.get(), i);
    const int done =
        PatchItem(PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1), module, choice);
    if (done < 0) return -1;
    count += done;
  }
  return count;
}

int Finder::PatchModule(PyObject* module, const Choice& choice) {
  return PatchItems(PyModule_GetDict(module), module, choice);
}

int Finder::PatchType(PyTypeObject* type, const Choice& choice) {
  if (type == &PyBaseObject_Type || type == &PyType_Type) return 0;
  // Some static types (_socket.socket) are readied only when they are first looked into.
  if (PyType_Ready(type) < 0) return -1;
  const Ref dict = DictOf(type);
  const int methods = dict ? PatchItems(dict.get(), nullptr, choice) : 0;
  if (methods < 0 || !choice.wrapped) return methods;
  const int slots = PatchWorkSlots(type, choice);
  return slots < 0 ? -1 : methods + slots;
}

int Finder::PatchSlot(PyTypeObject* type, const char* slot, const Choice& choice) {
  const int number = FindSlot(slot);
  void** address = number < 0 ? nullptr : SlotAddress(type, number);
  if (address == nullptr || *address == nullptr) return 0;
  const int done =
      PatchPointer(address, reinterpret_cast<PyObject*>(type), SlotMethod(number), choice);
  if (done > 0) NoteSlot(type, number, address);
  return done;
}

int Finder::PatchVectorcall(PyObject* object, const char* otherwise, const Choice& choice) {
  PyTypeObject* type = Py_TYPE(object);
  if (!PyType_HasFeature(type, Py_TPFLAGS_HAVE_VECTORCALL) || type->tp_vectorcall_offset <= 0 ||
      PyFunction_Check(object) || PyCFunction_Check(object) || PyMethod_Check(object)) {
    return 0;
  }
  auto** address =
      reinterpret_cast<void**>(reinterpret_cast<char*>(object) + type->tp_vectorcall_offset);
  if (*address == nullptr) return 0;
  const Ref name = Attribute(object, "__name__");
  const char* text = Text(name.get());
  return PatchPointer(address, object, *text != '\0' ? text : otherwise, choice);
}

void** Finder::CodeOf(PyObject* owner, const char* name) {
  if (PyType_Check(owner)) {
    auto* type = reinterpret_cast<PyTypeObject*>(owner);
    const int slot = FindSlot(name);
    if (slot >= 0) return SlotAddress(type, slot);
    const Ref dict = DictOf(type);
    PyObject* value = dict ? PyDict_GetItemString(dict.get(), name) : nullptr;
    PyMethodDef* def = value == nullptr ? nullptr : DefOf(value);
    return def == nullptr ? nullptr : reinterpret_cast<void**>(&def->ml_meth);
  }
  const Ref value = Attribute(owner, name);
  PyMethodDef* def = value ? DefOf(value.get()) : nullptr;
  return def == nullptr ? nullptr : reinterpret_cast<void**>(&def->ml_meth);
}

}  // namespace crosscut::pycalls
