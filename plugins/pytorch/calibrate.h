// What recording one operator costs on this machine.
#pragma once

#include "operators.h"

namespace crosscut::pytorch {

// Measures Begin, or with inputs BeginWithInputs, and End around a real operator and reports their
// cost as probe "op". Takes about 2 ms. Requires: recording is off on this thread, the global
// callbacks are removed and PrepareNames() has been called. What it records goes to a buffer of its
// own.
void Calibrate(Inputs inputs);

}  // namespace crosscut::pytorch
