#include "src/base/thread.h"

#include <signal.h>

namespace crosscut::base {

int StartThread(void* (*main)(void*), void* argument, size_t stack_bytes, pthread_t* thread) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (stack_bytes != 0) pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_t detached;
  if (thread == nullptr) {
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    thread = &detached;
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // a thread begins with its starter's mask
  const int error = pthread_create(thread, &attributes, main, argument);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return error;
}

}  // namespace crosscut::base
