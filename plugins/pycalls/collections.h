// Garbage collections as spans: a C callback in gc.callbacks. Under the GIL.
#pragma once

#include <cstdint>

#include "python.h"

namespace crosscut::pycalls {

void HookCollections();
void UnhookCollections();

// The callback itself, for calibration; borrowed, null on failure.
PyObject* CollectionCallback();
uint32_t CollectionProbe();

}  // namespace crosscut::pycalls
