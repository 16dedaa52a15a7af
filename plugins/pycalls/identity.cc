#include "identity.h"

#include <initializer_list>
#include <utility>

#include "entries.h"
#include "python.h"

namespace crosscut::pycalls {
namespace {

bool g_guarded = false;
// Once known they stay: another interpreter may be on its way through ours.
hashfunc g_hash = nullptr;
richcmpfunc g_compare = nullptr;

// A builtin function as it would be with nothing patched; `object` where it is not one of ours.
struct Unpatched {
  explicit Unpatched(PyObject* object) : object_(object) {
    if (!PyCFunction_Check(object)) return;
    auto* function = reinterpret_cast<PyCFunctionObject*>(object);
    void* code = reinterpret_cast<void*>(function->m_ml->ml_meth);
    if (StubIndex(code) < 0) return;
    def_ = *function->m_ml;
    def_.ml_meth = reinterpret_cast<PyCFunction>(Original(code));
    copy_ = *function;  // never escapes: hash and comparison only read its fields
    copy_.m_ml = &def_;
    object_ = reinterpret_cast<PyObject*>(&copy_);
  }
  PyObject* get() const { return object_; }

 private:
  PyObject* object_;
  PyMethodDef def_;
  PyCFunctionObject copy_;
};

Py_hash_t Hash(PyObject* object) { return g_hash(Unpatched(object).get()); }

PyObject* Compare(PyObject* a, PyObject* b, int op) {
  return g_compare(Unpatched(a).get(), Unpatched(b).get(), op);
}

// f.__hash__() and f.__eq__() go through the wrappers in the type's dictionary.
void Rewire(PyTypeObject* type, const char* name, void* from, void* to) {
  const Ref dict = DictOf(type);
  PyObject* wrapper = dict ? PyDict_GetItemString(dict.get(), name) : nullptr;
  if (wrapper == nullptr || !Py_IS_TYPE(wrapper, &PyWrapperDescr_Type)) return;
  auto* descriptor = reinterpret_cast<PyWrapperDescrObject*>(wrapper);
  if (descriptor->d_wrapped == from) descriptor->d_wrapped = to;
}

void Exchange(hashfunc hash_from, hashfunc hash_to, richcmpfunc from, richcmpfunc to) {
  for (PyTypeObject* type : {&PyCFunction_Type, &PyCMethod_Type}) {
    if (type->tp_hash == hash_from) type->tp_hash = hash_to;
    if (type->tp_richcompare == from) type->tp_richcompare = to;
    Rewire(type, "__hash__", reinterpret_cast<void*>(hash_from), reinterpret_cast<void*>(hash_to));
    for (const char* name : {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}) {
      Rewire(type, name, reinterpret_cast<void*>(from), reinterpret_cast<void*>(to));
    }
  }
}

}  // namespace

void GuardIdentity() {
  if (std::exchange(g_guarded, true)) return;
  g_hash = PyCFunction_Type.tp_hash;
  g_compare = PyCFunction_Type.tp_richcompare;
  Exchange(g_hash, Hash, g_compare, Compare);
}

void UnguardIdentity() {
  if (std::exchange(g_guarded, false)) Exchange(Hash, g_hash, Compare, g_compare);
}

}  // namespace crosscut::pycalls
