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
// The descriptor of that method in the type's own dictionary, from which CPython fills the slot of
// new subclasses; null where there is none that wraps `code` (or its thunk). No error is set.
Ref SlotDescriptor(PyTypeObject* type, int slot, const void* code);
// Numbers of the slots that do work of a type's own and that libraries do not tell types apart by:
// calls, iteration, items.
int SlotCount();
bool IsWork(int slot);
const char* SlotName(int slot);

}  // namespace crosscut::pycalls
