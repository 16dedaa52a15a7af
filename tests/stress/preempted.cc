// Locks are points of preemption, too: by --wrap of the linker.
#include <pthread.h>

#include "src/base/preempt.h"

extern "C" {

int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t* mutex);

int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  crosscut_preempt_point();
  const int error = __real_pthread_mutex_lock(mutex);
  crosscut_preempt_point();
  return error;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  crosscut_preempt_point();
  const int error = __real_pthread_mutex_unlock(mutex);
  crosscut_preempt_point();
  return error;
}

}  // extern "C"
