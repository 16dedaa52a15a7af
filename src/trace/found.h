// Operations that an adapter found, beside those that the program declares.
#pragma once

#include "src/trace/trace.h"

namespace crosscut::trace {

// What the program declares owns its time: a found operation inside a declared one of its thread
// becomes a part of that (Kind::kPart), with its own name. Elsewhere it stays an operation; if its
// process declares and uses one of that name, say "forward", too, the found one is called
// "forward (found)". Done twice it changes nothing more.
void PlaceFound(Trace* trace);

}  // namespace crosscut::trace
