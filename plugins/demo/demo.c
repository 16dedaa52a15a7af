/* A plugin to copy: it works in Crosscut and in TensorFlow, from one binary.
 *
 * Under Crosscut the device's events are pushed as they come; under TensorFlow, which offers
 * nothing to push to, they are kept and handed over as an XSpace. Settings (Crosscut: --plugin
 * libdemo.so,period_us=N; anywhere: CROSSCUT_PLUGIN_PERIOD_US): period_us, busy_us; 0 = no device.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "crosscut/plugin.h"
#include "device.h"
#include "status.h"
#include "xspace.h"

enum { KEPT_EVENTS = 1 << 16, QUEUES = 2 };

/* One device in the process, however many programs load this library. */
static struct {
  const crosscut_host* host; /* null under TensorFlow */
  int registered, started;
  uint32_t tracks[QUEUES], names[DEMO_WORKS], bytes_key;
  /* One of start, stop, collect at a time, whoever calls. */
  pthread_mutex_t calls;
  /* Kept for TensorFlow: under the lock, as the device tells on its own thread. */
  pthread_mutex_t mutex;
  demo_event* events;
  size_t count, lost;
  int64_t to_realtime_ns;
  uint8_t* serialised; /* between the two calls of collect */
  size_t serialised_size;
} demo = {.calls = PTHREAD_MUTEX_INITIALIZER, .mutex = PTHREAD_MUTEX_INITIALIZER};

static int64_t setting(const char* key, const char* variable, int64_t otherwise) {
  const char* text = demo.host != NULL ? demo.host->option(demo.host->host, key) : getenv(variable);
  return text == NULL ? otherwise : (int64_t)strtoll(text, NULL, 10);
}

static void push(void* self, const demo_event* event) {
  const crosscut_host* host = demo.host;
  const uint32_t track = demo.tracks[event->queue];
  (void)self;
  host->span(host->host, track, demo.names[event->work], event->begin_ns, event->end_ns);
  if (event->bytes != 0) host->arg(host->host, demo.bytes_key, (int64_t)event->bytes);
}

static void keep(void* self, const demo_event* event) {
  (void)self;
  pthread_mutex_lock(&demo.mutex);
  if (demo.count < KEPT_EVENTS) {
    demo.events[demo.count++] = *event;
  } else {
    ++demo.lost;
  }
  pthread_mutex_unlock(&demo.mutex);
}

static void drop_what_is_kept(void) {
  free(demo.serialised);
  demo.serialised = NULL;
  demo.count = 0;
  demo.lost = 0;
}

static int64_t realtime_minus_monotonic(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - demo_device_now();
}

/* Errors are told where a program can hear them; in TensorFlow's log, as a status. */
static void fail(TF_Status* status, TF_Code code, const char* message) {
  void (*set)(TF_Status*, TF_Code, const char*) = demo_status_setter();
  if (set != NULL && status != NULL) set(status, code, message);
}

static void start_alone(TF_Status* status) {
  if (demo.started) {
    fail(status, TF_FAILED_PRECONDITION, "demo: it is started already");
    return;
  }
  drop_what_is_kept();
  demo.to_realtime_ns = realtime_minus_monotonic();
  if (demo.host == NULL && demo.events == NULL) {
    demo.events = malloc(KEPT_EVENTS * sizeof *demo.events);
    if (demo.events == NULL) {
      fail(status, TF_RESOURCE_EXHAUSTED, "demo: no memory for events");
      return;
    }
  }
  /* No device is no error: then there is nothing to tell. */
  (void)demo_device_start(setting("period_us", "CROSSCUT_PLUGIN_PERIOD_US", 5000),
                          setting("busy_us", "CROSSCUT_PLUGIN_BUSY_US", 2000),
                          demo.host != NULL ? &push : &keep, NULL);
  demo.started = 1;
}

static void stop_alone(TF_Status* status) {
  if (!demo.started) {
    fail(status, TF_FAILED_PRECONDITION, "demo: it is not started");
    return;
  }
  demo_device_stop();
  demo.started = 0;
}

/* Serialised once, at the question for the size, and kept until fetched: both calls see the same.
 */
static void collect_alone(uint8_t* buffer, size_t* size, TF_Status* status) {
  if (buffer == NULL) {
    *size = 0;
    if (demo.started || demo.count == 0) return;
    if (demo.serialised == NULL) {
      demo.serialised =
          demo_xspace(demo.events, demo.count, demo.to_realtime_ns, &demo.serialised_size);
    }
    if (demo.serialised != NULL) *size = demo.serialised_size;
    return;
  }
  if (demo.serialised == NULL || *size < demo.serialised_size) {
    *size = 0;
    fail(status, TF_FAILED_PRECONDITION, "demo: the buffer is smaller than the size asked for");
    return;
  }
  memcpy(buffer, demo.serialised, demo.serialised_size);
  *size = demo.serialised_size;
  drop_what_is_kept();
}

static void start(const TP_Profiler* profiler, TF_Status* status) {
  (void)profiler;
  pthread_mutex_lock(&demo.calls);
  start_alone(status);
  pthread_mutex_unlock(&demo.calls);
}

static void stop(const TP_Profiler* profiler, TF_Status* status) {
  (void)profiler;
  pthread_mutex_lock(&demo.calls);
  stop_alone(status);
  pthread_mutex_unlock(&demo.calls);
}

static void collect(const TP_Profiler* profiler, uint8_t* buffer, size_t* size, TF_Status* status) {
  (void)profiler;
  pthread_mutex_lock(&demo.calls);
  collect_alone(buffer, size, status);
  pthread_mutex_unlock(&demo.calls);
}

static void introduce(const crosscut_host* host) {
  crosscut_track track = {0};
  track.struct_size = sizeof track;
  track.device_name = "Demo accelerator";
  track.name = "Queue 0";
  demo.tracks[0] = host->track(host->host, &track);
  track.queue = 1;
  track.name = "Queue 1";
  demo.tracks[1] = host->track(host->host, &track);
  demo.names[DEMO_KERNEL] = host->name(host->host, "demo_kernel", SIZE_MAX, CROSSCUT_ON_DEVICE, 0);
  demo.names[DEMO_COPY] = host->name(host->host, "demo_copy", SIZE_MAX, CROSSCUT_ON_DEVICE, 0);
  demo.bytes_key = host->word(host->host, "bytes", SIZE_MAX);
}

/* TensorFlow runs these on copies, before the plugin's first use: nothing to do. */
static void destroy_profiler(TP_Profiler* profiler) { (void)profiler; }
static void destroy_profiler_fns(TP_ProfilerFns* fns) { (void)fns; }

/* A second program in this process, or the same file by another name, gets functions that do
 * nothing: one device has one listener. */
static void ignore(const TP_Profiler* profiler, TF_Status* status) {
  (void)profiler;
  (void)status;
}
static void collect_nothing(const TP_Profiler* profiler, uint8_t* buffer, size_t* size,
                            TF_Status* status) {
  (void)profiler;
  (void)buffer;
  (void)status;
  *size = 0;
}

__attribute__((visibility("default"))) void TF_InitProfiler(TF_ProfilerRegistrationParams* params,
                                                            TF_Status* status) {
  int first;
  /* A host of an older ABI, whose structs end before what is written here. */
  if (params->struct_size < TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE ||
      params->profiler->struct_size < TP_PROFILER_STRUCT_SIZE ||
      params->profiler_fns->struct_size < TP_PROFILER_FNS_STRUCT_SIZE) {
    fail(status, TF_FAILED_PRECONDITION, "demo: the host's structs are too small");
    return;
  }
  first = !__atomic_exchange_n(&demo.registered, 1, __ATOMIC_ACQ_REL);
  params->profiler->device_type = "DEMO";
  params->profiler_fns->start = first ? &start : &ignore;
  params->profiler_fns->stop = first ? &stop : &ignore;
  params->profiler_fns->collect_data_xspace = first ? &collect : &collect_nothing;
  params->destroy_profiler = &destroy_profiler;
  params->destroy_profiler_fns = &destroy_profiler_fns;
  if (!first) return;
  demo.host = crosscut_host_of(params);
  if (demo.host != NULL) introduce(demo.host);
}
