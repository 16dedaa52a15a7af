// Threads of Crosscut in the program's process.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace crosscut::base {

// Starts main(argument) on a thread that blocks every signal, because the program's signals are for
// its own threads. `stack_bytes` 0: the usual stack. `thread` null: detached. Returns 0 or
// pthread_create's error.
int StartThread(void* (*main)(void*), void* argument, size_t stack_bytes, pthread_t* thread);

}  // namespace crosscut::base
