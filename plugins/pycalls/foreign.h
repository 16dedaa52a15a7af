// Functions of shared libraries that Python calls through a foreign function interface (ctypes,
// cffi): all of them go through the call slot of one type, so the object that is called tells which
// one it is. Under the GIL.
#pragma once

#include <cstdint>

#include "python.h"

namespace crosscut::pycalls {

// `namer(function)` is asked once for each function object, when it is first called: None where
// its calls are not recorded, else (name, layer number). It must not raise; what it does is not
// recorded. Null: none.
void SetForeignNamer(PyObject* namer);
// Every function is asked for anew.
void ForgetForeign();

// Extra::choose (entries.h) of the call slot of such a type.
uint32_t ChooseForeign(uint32_t name, const uint64_t (&arguments)[3]);

}  // namespace crosscut::pycalls
