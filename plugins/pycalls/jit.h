// Calls of JAX's compiled functions. Each is an object of its own with a vectorcall pointer of its
// own, made and dropped as the program runs, so the place to stand is their type: it is told to be
// called by tp_call, and tp_call is ours. Under the GIL.
//
// Recorded are outermost calls, of functions that are not the library's own (jax.numpy's are jitted
// too) as operations: "compile" the first call, which traces and compiles; "train_step" those of
// the function that the thread that makes the steps has called most often so far; others by their
// name. Around every call but a first one there is a span "jax.jit(name)" of layer framework. A
// function that is made anew each time, from the same code, counts as one.
#pragma once

#include <cstdint>

#include "python.h"

namespace crosscut::pycalls {

// Begins with `type` (jaxlib's PjitFunction). `stepped` is called with it after each call but the
// first of the function that its thread has called most often, also while nothing is recorded
// (control steps): on one thread. That is the one where it happened first, until the main thread
// makes 3 such calls not far from one another, or others 16 without one there; at first as many as
// there were, if that is 3 to 16. `inside` gives this thread's word that is 1 while a call lasts;
// null: none. False, with no error set, where the type is not built as expected.
bool PatchJit(PyTypeObject* type, PyObject* stepped, int32_t* (*inside)());
// As it was before.
void UnpatchJit();
// Whether spans and operations are marked.
void SwitchJit(bool on);

}  // namespace crosscut::pycalls
