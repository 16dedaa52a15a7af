#include "slots.h"

#include <cstddef>
#include <cstring>
#include <iterator>

#include "entries.h"

namespace crosscut::pycalls {
namespace {

enum Group { kType, kNumber, kMapping, kSequence };

struct Slot {
  const char* name;
  const char* method;
  Group group;
  size_t offset;
};

#define TP(name, method) \
  { #name, method, kType, offsetof(PyTypeObject, name) }
#define NB(name, method) \
  { #name, method, kNumber, offsetof(PyNumberMethods, name) }
#define MP(name, method) \
  { #name, method, kMapping, offsetof(PyMappingMethods, name) }
#define SQ(name, method) \
  { #name, method, kSequence, offsetof(PySequenceMethods, name) }

// Only slots whose arguments and result are integers or pointers, five at most. nb_power's third
// argument, tp_iternext's NULL without an error and tp_richcompare's operator pass through.
constexpr Slot kSlots[] = {
    TP(tp_call, "__call__"),
    TP(tp_richcompare, "__compare__"),
    TP(tp_iter, "__iter__"),
    TP(tp_iternext, "__next__"),
    TP(tp_repr, "__repr__"),
    TP(tp_str, "__str__"),
    TP(tp_init, "__init__"),
    NB(nb_add, "__add__"),
    NB(nb_subtract, "__sub__"),
    NB(nb_multiply, "__mul__"),
    NB(nb_remainder, "__mod__"),
    NB(nb_divmod, "__divmod__"),
    NB(nb_power, "__pow__"),
    NB(nb_negative, "__neg__"),
    NB(nb_positive, "__pos__"),
    NB(nb_absolute, "__abs__"),
    NB(nb_bool, "__bool__"),
    NB(nb_invert, "__invert__"),
    NB(nb_lshift, "__lshift__"),
    NB(nb_rshift, "__rshift__"),
    NB(nb_and, "__and__"),
    NB(nb_xor, "__xor__"),
    NB(nb_or, "__or__"),
    NB(nb_int, "__int__"),
    NB(nb_float, "__float__"),
    NB(nb_inplace_add, "__iadd__"),
    NB(nb_inplace_subtract, "__isub__"),
    NB(nb_inplace_multiply, "__imul__"),
    NB(nb_inplace_remainder, "__imod__"),
    NB(nb_inplace_power, "__ipow__"),
    NB(nb_inplace_lshift, "__ilshift__"),
    NB(nb_inplace_rshift, "__irshift__"),
    NB(nb_inplace_and, "__iand__"),
    NB(nb_inplace_xor, "__ixor__"),
    NB(nb_inplace_or, "__ior__"),
    NB(nb_floor_divide, "__floordiv__"),
    NB(nb_true_divide, "__truediv__"),
    NB(nb_inplace_floor_divide, "__ifloordiv__"),
    NB(nb_inplace_true_divide, "__itruediv__"),
    NB(nb_index, "__index__"),
    NB(nb_matrix_multiply, "__matmul__"),
    NB(nb_inplace_matrix_multiply, "__imatmul__"),
    MP(mp_length, "__len__"),
    MP(mp_subscript, "__getitem__"),
    MP(mp_ass_subscript, "__setitem__"),
    SQ(sq_length, "__len__"),
    SQ(sq_concat, "__add__"),
    SQ(sq_repeat, "__mul__"),
    SQ(sq_item, "__getitem__"),
    SQ(sq_ass_item, "__setitem__"),
    SQ(sq_contains, "__contains__"),
    SQ(sq_inplace_concat, "__iadd__"),
    SQ(sq_inplace_repeat, "__imul__"),
};

#undef TP
#undef NB
#undef MP
#undef SQ

}  // namespace

int FindSlot(const char* name) {
  for (size_t i = 0; i < std::size(kSlots); ++i) {
    if (std::strcmp(kSlots[i].name, name) == 0) return static_cast<int>(i);
  }
  return -1;
}

void** SlotAddress(PyTypeObject* type, int slot) {
  const Slot& s = kSlots[slot];
  void* table = nullptr;
  switch (s.group) {
    case kType: table = type; break;
    case kNumber: table = type->tp_as_number; break;
    case kMapping: table = type->tp_as_mapping; break;
    case kSequence: table = type->tp_as_sequence; break;
  }
  if (table == nullptr) return nullptr;
  return reinterpret_cast<void**>(static_cast<char*>(table) + s.offset);
}

const char* SlotMethod(int slot) { return kSlots[slot].method; }

Ref SlotDescriptor(PyTypeObject* type, int slot, const void* code) {
  const Ref dict = DictOf(type);
  PyObject* found = dict ? PyDict_GetItemString(dict.get(), SlotMethod(slot)) : nullptr;
  if (found == nullptr || !Py_IS_TYPE(found, &PyWrapperDescr_Type)) return Ref();
  void* wrapped = reinterpret_cast<PyWrapperDescrObject*>(found)->d_wrapped;
  return Original(wrapped) == code ? Ref::Borrow(found) : Ref();
}

const char* SlotName(int slot) { return kSlots[slot].name; }

int SlotCount() { return std::size(kSlots); }

bool IsWork(int slot) { return kSlots[slot].group != kNumber; }

}  // namespace crosscut::pycalls
