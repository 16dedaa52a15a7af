// Frames of Python functions, as far as the CPython versions that we serve tell of them. A frame is
// known by an address that stays its own until it ends. Under the GIL, no references are kept.
#pragma once

#include <vector>

#include "python.h"

namespace crosscut::pycalls {

// The topmost frame of this thread, which runs Python code.
const void* TopFrame();

#if PY_VERSION_HEX < 0x030c0000
// What a frame runs; borrowed.
PyCodeObject* CodeOf(const PyFrameObject* frame);
#endif

// A running frame by its place in memory, which is its own while something that it called runs.
const void* PlaceOfTop();
// Whether `frame` is one of those that run on this thread.
bool Runs(const void* frame);

// Where `caller` was when it called `top`, the thread's topmost frame: a byte of its code. -1 where
// it did not; native functions and a few unrecorded frames may lie between the two.
int CallerInstruction(const void* top, const void* caller);
// The same for the native function that runs.
int NativeCallerInstruction(const void* caller);

struct LiveFrame {
  const void* frame;
  const void* place;   // as PlaceOfTop() has it
  PyCodeObject* code;  // borrowed
  int instruction;     // where it is: the call of the next one
};
// This thread's frames, outermost first, without the topmost where `skip_top`. Allocates.
std::vector<LiveFrame> LiveFrames(bool skip_top);

}  // namespace crosscut::pycalls
