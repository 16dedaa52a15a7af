// Operations that an adapter found, beside operations of the same name that the program declares.
#pragma once

#include "src/trace/trace.h"

namespace crosscut::import {

// Renames found operations whose name the program declares and uses, too, say "forward". The
// program's keep the name; the adapter's become "forward (found)". Inside one of the program's they
// become spans, because the time is the program's operation's; elsewhere they stay operations.
// Others stay as they are.
void TellFoundApart(trace::Trace* trace);

}  // namespace crosscut::import
