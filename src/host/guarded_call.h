// The barrier that nothing thrown inside a plugin passes. This folder's one file built with
// exceptions.
#pragma once

#include <cstddef>

namespace crosscut::host {

// Runs body(argument). False where an exception left it; `what` (of `bytes`) then holds its words.
// A thread that the body ends by pthread_exit() ends.
bool GuardedCall(void (*body)(void*), void* argument, char* what, size_t bytes);

}  // namespace crosscut::host
