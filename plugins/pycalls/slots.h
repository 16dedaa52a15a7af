// The type slots that can be patched, by the names of CPython's documentation ("mp_subscript").
#pragma once

#include "python.h"

namespace crosscut::pycalls {

// The number of a slot, or -1.
int FindSlot(const char* name);
// Where `type` keeps it; null where the type has no such table.
void** SlotAddress(PyTypeObject* type, int slot);
// The method name that stands for it in reports: "__getitem__".
const char* SlotMethod(int slot);

}  // namespace crosscut::pycalls
