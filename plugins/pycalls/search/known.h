// The modules that are patched without being asked for, and the layer of each: one table.
#pragma once

#include "plugins/pycalls/search/find.h"

namespace crosscut::pycalls {

// Names of the modules whose import is to be followed by PatchKnown(); a new tuple or null.
PyObject* KnownModules();
// Patches what the table says of `module` (already imported). `layer` other than NONE replaces the
// table's layer. Parts that this version of the module lacks are passed over. Returns the number
// of patches, or -1 with an error set.
int PatchKnown(const char* module, crosscut_layer layer);

}  // namespace crosscut::pycalls
