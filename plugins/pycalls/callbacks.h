// Python that native code calls back: it ends the native slice, and the slice goes on behind it.
//
// Nothing in CPython's calls tells that native code is the caller. So while a thread is inside a
// wrapped native call, the interpreter evaluates frames through us (PEP 523): the first frame of
// that thread is the callback, a span "callback" of layer python, and while it runs our evaluation
// is out again, so that the Python below it runs as ever. Where the evaluation belongs to somebody
// else (torch.compile), callbacks stay in the native slice. Under the GIL.
//
// Other threads of the program evaluate through us, too, while one is inside a wrapped call that
// gave up the GIL: a load and a branch a frame, and their calls nest on the C stack.
#pragma once

#include "python.h"

namespace crosscut::pycalls {

// This thread enters a wrapped native call, and leaves it with what EnterNative() returned.
bool EnterNative();
void LeaveNative(bool before);

// Once, before the first: forked children begin with no other thread inside.
bool InitCallbacks();

}  // namespace crosscut::pycalls
