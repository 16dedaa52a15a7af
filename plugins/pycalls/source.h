// The source "pycalls" as libcrosscut sees it: registered once, switched at step edges.
#pragma once

#include "patches.h"
#include "python.h"

namespace crosscut::pycalls {

// Registers with the recorder. False (with crosscut_error()) where that fails.
bool AddSource();
// Level EVERYTHING includes every Python function from here on, with `builtins` every call of a
// builtin one, too / no longer. False on a conflict.
bool StartCalls(bool builtins);
void StopCalls();
// What set_level does: thunks, and with them collections, in or out; calls in or out.
void SetSwitches(Thunks thunks, bool calls);
bool CallsIn();
// Everything out, restored and forgotten.
void RemoveAll();

}  // namespace crosscut::pycalls
