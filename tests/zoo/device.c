#define _GNU_SOURCE
#include "device.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static device_listener listener;
static void* listener_self;
static uint64_t worked;
static int last_user;
static int64_t last_end; /* the device does one thing at a time */

static int64_t now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int device_count(void) {
  const char* count = getenv("CROSSCUT_PLUGIN_MOCK_DEVICES");
  return count == NULL ? 1 : atoi(count);
}

void* device_idle(void* nothing) {
  for (;;) pause();
  return nothing;
}

void device_lock(void) { pthread_mutex_lock(&lock); }
void device_unlock(void) { pthread_mutex_unlock(&lock); }

void device_listen(device_listener new_listener, void* self) {
  device_lock();
  listener = new_listener;
  listener_self = self;
  device_unlock();
}

uint64_t device_worked(void) { return __atomic_load_n(&worked, __ATOMIC_RELAXED); }

int device_last_user(void) { return __atomic_load_n(&last_user, __ATOMIC_RELAXED); }

int crosscut_work(uint64_t pieces) {
  int64_t begin = now(CLOCK_MONOTONIC);
  const int64_t to_real = now(CLOCK_REALTIME) - begin;
  uint64_t i;
  for (i = 0; i < pieces; ++i) {
    int64_t end;
    device_lock();
    end = now(CLOCK_MONOTONIC);
    if (begin < last_end) begin = last_end;
    last_end = end;
    if (listener != NULL) listener(listener_self, begin + to_real, begin, end - begin);
    last_user = gettid();
    __atomic_fetch_add(&worked, 1, __ATOMIC_RELAXED);
    begin = end;
    device_unlock();
  }
  return 0;
}
