// Frames of Python functions, as far as the CPython versions that we serve tell of them. A frame is
// known by an address that stays its own until it ends. Under the GIL, no references are kept.
#pragma once

#include <vector>

#include "python.h"

namespace crosscut::pycalls {

// The topmost frame of this thread, which runs Python code.
const void* TopFrame();

// Where `caller` was when it called `frame`, the thread's topmost: a byte of its code. -1 where it
// did not; native functions and a few unrecorded frames may lie between the two.
int CallerInstruction(const void* frame, const void* caller);

// The same for the topmost frame itself, which is in a native function.
int TopInstruction(const void* frame);

struct LiveFrame {
  const void* frame;
  PyCodeObject* code;  // borrowed
  int instruction;     // where it is: the call of the next one
};
// This thread's frames, outermost first, without the topmost where `skip_top`. Allocates.
std::vector<LiveFrame> LiveFrames(bool skip_top);

}  // namespace crosscut::pycalls
