/* The accelerator that this plugin profiles: a simulated one, with two queues that run a kernel and
 * a copy now and then. Put your device's own tracing interface in its place. */
#ifndef CROSSCUT_PLUGINS_DEMO_DEVICE_H_
#define CROSSCUT_PLUGINS_DEMO_DEVICE_H_

#include <stdint.h>

enum demo_work { DEMO_KERNEL = 0, DEMO_COPY = 1, DEMO_WORKS = 2 };

typedef struct demo_event {
  int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
  uint32_t queue;           /* 0 or 1 */
  uint32_t work;            /* enum demo_work */
  uint64_t bytes;           /* copies: how many */
} demo_event;

/* What the device tells of each piece of work when it is done, on a thread of its own. */
typedef void (*demo_listener)(void* self, const demo_event* event);

/* Begins to run: every period_us a kernel of busy_us on queue 0, and a copy of a quarter of that on
 * queue 1 behind it. 0, or an errno where there is no such device. */
int demo_device_start(int64_t period_us, int64_t busy_us, demo_listener listener, void* self);
/* Returns when the listener has heard the last of it. */
void demo_device_stop(void);
int64_t demo_device_now(void);

#endif
