#include "builtins.h"

#include <dlfcn.h>

#include <cstring>
#include <string>
#include <unordered_map>

#include "call_stack.h"
#include "crosscut/crosscut.h"
#include "crosscut/in_python.h"
#include "entries.h"

namespace crosscut::pycalls {
namespace {

struct Known {
  const char* text;  // of the definition; another one may come to lie where it was
  uint32_t name;
};

PyMethodDef* DefinitionOf(PyObject* builtin) {
  if (PyCFunction_Check(builtin)) return reinterpret_cast<PyCFunctionObject*>(builtin)->m_ml;
  return reinterpret_cast<PyMethodDescrObject*>(builtin)->d_method;
}

// The class that a method was found in; `type`, where none of its own says so.
PyTypeObject* OwnerOf(const PyMethodDef* definition, PyTypeObject* type) {
  PyObject* bases = type->tp_mro;
  for (Py_ssize_t i = 0; bases != nullptr && i < PyTuple_GET_SIZE(bases); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(bases, i));
    const Ref dict = DictOf(base);
    PyObject* found = dict ? PyDict_GetItemString(dict.get(), definition->ml_name) : nullptr;
    if (found != nullptr && Py_IS_TYPE(found, &PyMethodDescr_Type) &&
        DefinitionOf(found) == definition) {
      return base;
    }
  }
  return type;
}

std::string HomeOf(PyObject* builtin) {
  if (!PyCFunction_Check(builtin)) {
    return reinterpret_cast<PyMethodDescrObject*>(builtin)->d_common.d_type->tp_name;
  }
  const auto* function = reinterpret_cast<PyCFunctionObject*>(builtin);
  if (function->m_self == nullptr || PyModule_Check(function->m_self)) {
    const std::string module = Text(function->m_module);
    return module == "builtins" ? "" : module;
  }
  if (PyType_Check(function->m_self)) return "";  // of a class: what all classes share, too
  return OwnerOf(function->m_ml, Py_TYPE(function->m_self))->tp_name;
}

// Whether it is code of the package's: what leads to another function, which a thunk records.
bool IsOurs(PyCFunction code) {
  static const auto folder_of = [](const void* address) {
    Dl_info info = {};
    const char* file = dladdr(address, &info) != 0 ? info.dli_fname : nullptr;
    const char* slash = file == nullptr ? nullptr : std::strrchr(file, '/');
    return slash == nullptr ? std::string() : std::string(file, slash);
  };
  static const std::string ours = folder_of(reinterpret_cast<const void*>(&folder_of));
  return !ours.empty() && folder_of(reinterpret_cast<const void*>(code)) == ours;
}

// The frames of a greenlet that goes on are not those that it was called from.
bool IsLeftAlone(const std::string& home) {
  return home.starts_with("crosscut") || home.starts_with("greenlet");
}

__attribute__((noinline)) uint32_t Name(PyObject* builtin, const PyMethodDef* definition) {
  const PendingException kept;
  const std::string home = HomeOf(builtin);
  uint32_t name = 0;
  if (!IsLeftAlone(home) && !IsOurs(definition->ml_meth)) {
    const std::string text = (home.empty() ? "" : home + ".") + definition->ml_name;
    name = crosscut_intern(text.data(), text.size(), CROSSCUT_SPAN, CROSSCUT_PYTHON, CROSSCUT_FRAME,
                           PycallProbe());
  }
  return name;
}

}  // namespace

uint32_t NameBuiltin(PyObject* builtin) {
  static auto* const names = new std::unordered_map<const PyMethodDef*, Known>;
  const PyMethodDef* definition = DefinitionOf(builtin);
  if (StubIndex(reinterpret_cast<void*>(definition->ml_meth)) >= 0) return 0;
  Known& known = (*names)[definition];
  if (known.text != definition->ml_name) {
    known = {definition->ml_name, Name(builtin, definition)};
  }
  return known.name;
}

}  // namespace crosscut::pycalls
