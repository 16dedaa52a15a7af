// Operations that an adapter found, beside operations of the program's own of the same name.
#pragma once

#include "src/trace/trace.h"

namespace crosscut::import {

// Where the program marks operations of the name that an adapter gave to its own, "forward" say,
// the program's keep it and the adapter's are called "forward (found)": spans inside one of the
// program's, whose time is the program's operation, else operations. Others stay as they are.
void TellFoundApart(trace::Trace* trace);

}  // namespace crosscut::import
