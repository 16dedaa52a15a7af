#define _POSIX_C_SOURCE 200809L
#include "device.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

static struct {
  pthread_t thread;
  int runs;
  int stop; /* atomic */
  int64_t period_ns, busy_ns;
  demo_listener listener;
  void* self;
} device;

int64_t demo_device_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void sleep_until(int64_t ns) {
  struct timespec until;
  until.tv_sec = ns / 1000000000;
  until.tv_nsec = ns % 1000000000;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
  }
}

static void tell(uint32_t work, int64_t begin_ns, int64_t end_ns) {
  demo_event event = {0};
  event.begin_ns = begin_ns;
  event.end_ns = end_ns;
  event.queue = work;
  event.work = work;
  event.bytes = work == DEMO_COPY ? 1 << 20 : 0;
  device.listener(device.self, &event);
}

static void* run(void* unused) {
  int64_t begin = demo_device_now();
  (void)unused;
  while (!__atomic_load_n(&device.stop, __ATOMIC_ACQUIRE)) {
    const int64_t kernel_end = begin + device.busy_ns, copy_end = kernel_end + device.busy_ns / 4;
    sleep_until(copy_end);
    tell(DEMO_KERNEL, begin, kernel_end);
    tell(DEMO_COPY, kernel_end, copy_end);
    begin += device.period_ns;
    if (begin < copy_end) begin = copy_end;
    if (!__atomic_load_n(&device.stop, __ATOMIC_ACQUIRE)) sleep_until(begin);
  }
  return NULL;
}

int demo_device_start(int64_t period_us, int64_t busy_us, demo_listener listener, void* self) {
  sigset_t all, before;
  int error;
  if (device.runs) return EBUSY;
  if (period_us <= 0 || busy_us <= 0) return ENODEV;
  device.period_ns = period_us * 1000;
  device.busy_ns = busy_us * 1000;
  device.listener = listener;
  device.self = self;
  __atomic_store_n(&device.stop, 0, __ATOMIC_RELEASE);
  /* The program's signals are the program's. */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  error = pthread_create(&device.thread, NULL, &run, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  device.runs = error == 0;
  return error;
}

void demo_device_stop(void) {
  if (!device.runs) return;
  __atomic_store_n(&device.stop, 1, __ATOMIC_RELEASE);
  pthread_join(device.thread, NULL);
  device.runs = 0;
}
