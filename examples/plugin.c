/* A whole plugin: the smallest that a device vendor would start from. It works in Crosscut and in
 * TensorFlow, as one binary:
 *
 *   cc -std=c99 -O2 -fPIC -shared -fvisibility=hidden -Iinclude examples/plugin.c \
 *      -o libexample.so -lpthread
 *   crosscut check-plugin ./libexample.so                               keeps every rule
 *   crosscut record --plugin ./libexample.so -- python train.py         in Crosscut
 *   TF_PLUGGABLE_DEVICE_LIBRARY_PATH=./libexample.so python train.py    in TensorFlow
 *
 * Its device is pretended: it runs as many kernels per session as the variable
 * CROSSCUT_PLUGIN_MOCK_WORK says, none without it. Where that happens (`kernels_run`) a real plugin
 * asks its driver. docs/plugin-abi.md explains the contract as a whole. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "crosscut/plugin.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- What is recorded ---- */

/* One thing that the device did: ns of CLOCK_REALTIME, because XSpace counts in those. */
struct kernel {
  int64_t begin_ns, length_ns;
};

/* A fixed buffer: memory is bounded, and nothing is allocated while the program runs. */
#define MOST_KERNELS 4096
/* No kernel takes more bytes than this in the XSpace, see put_kernel(). */
#define KERNEL_BYTES 48
#define HEAD_BYTES 512

/* The state of the process's one session. TensorFlow hands each call a copy of TP_Profiler, so it
 * cannot live there; it is never freed, because calls may come until the process has ended. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* calls may come from any thread */
static int running;
static int64_t started_ns;
static struct kernel kernels[MOST_KERNELS];
static uint64_t kernel_count, dropped_count;
static uint8_t space[HEAD_BYTES + MOST_KERNELS * KERNEL_BYTES]; /* the XSpace, once serialised */
static size_t space_size;

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* How many kernels the device has run since `start`. Pretended; no variable, no kernel: a device
 * that is absent or was not used gives no output. */
static uint64_t kernels_run(void) {
  const char* devices = getenv("CROSSCUT_PLUGIN_MOCK_DEVICES");
  const char* work = getenv("CROSSCUT_PLUGIN_MOCK_WORK");
  if (work == NULL || (devices != NULL && strcmp(devices, "0") == 0)) return 0;
  return strtoull(work, NULL, 10);
}

/* ---- XSpace: protobuf's wire format, written by hand ---- */

/* Seven bits a byte, lowest first; the top bit says that more follow. */
static uint8_t* put_varint(uint8_t* at, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = (uint8_t)(value | 0x80);
  *at++ = (uint8_t)value;
  return at;
}

/* A field that holds a number: its tag, shifted by the wire type 0, then the number. */
static uint8_t* put_number(uint8_t* at, uint32_t field, uint64_t value) {
  return put_varint(put_varint(at, field << 3), value);
}

/* A field that holds bytes, a text or a message: tag and wire type 2, the length, the bytes. */
static uint8_t* put_bytes(uint8_t* at, uint32_t field, const void* bytes, size_t size) {
  at = put_varint(put_varint(at, field << 3 | 2), size);
  memcpy(at, bytes, size);
  return at + size;
}

/* XPlane.event_metadata (field 4) or stat_metadata (field 5): names are written once and referred
 * to by id. A map's entry is a message {1: key, 2: value}, and the value repeats the key as id. */
static uint8_t* put_name(uint8_t* at, uint32_t field, uint64_t id, const char* name) {
  uint8_t metadata[64], entry[80];
  uint8_t* end = put_number(metadata, 1, id);
  size_t size = (size_t)(put_bytes(end, 2, name, strlen(name)) - metadata);
  end = put_number(entry, 1, id);
  end = put_bytes(end, 2, metadata, size);
  return put_bytes(at, field, entry, (size_t)(end - entry));
}

/* XLine.events (field 4): {1: id of its name, 2: begin and 3: length in picoseconds}. The begin
 * counts from the line's timestamp, and is never negative. */
static uint8_t* put_kernel(uint8_t* at, const struct kernel* kernel) {
  uint8_t event[40];
  uint8_t* end = put_number(event, 1, 1);
  end = put_number(end, 2, (uint64_t)(kernel->begin_ns - started_ns) * 1000);
  end = put_number(end, 3, (uint64_t)kernel->length_ns * 1000);
  return put_bytes(at, 4, event, (size_t)(end - event));
}

/* XLine, one queue of the device: {1: id, 2: name, 3: timestamp, 4: events in order}. */
static size_t make_line(uint8_t* line) {
  uint64_t i;
  uint8_t* end = put_number(line, 1, 1);
  end = put_bytes(end, 2, "Queue 0", 7);
  end = put_number(end, 3, (uint64_t)started_ns);
  for (i = 0; i < kernel_count; ++i) end = put_kernel(end, &kernels[i]);
  return (size_t)(end - line);
}

/* XPlane, the device: {1: id, 2: name, 3: lines, 4 and 5: names, 6: facts}. XProf shows planes that
 * are called /device:GPU:<n> or /device:CUSTOM:<anything>, and no others. */
static size_t make_plane(uint8_t* plane) {
  static uint8_t line[sizeof space]; /* too large for a thread's stack; guarded by `lock` */
  uint8_t stat[24];
  uint8_t* end = put_number(plane, 1, 200);
  end = put_bytes(end, 2, "/device:CUSTOM:example", 22);
  end = put_name(end, 4, 1, "example_kernel");
  end = put_name(end, 5, 1, "dropped");
  if (dropped_count > 0) { /* what is missing is told: XStat {1: id of its name, 4: a number} */
    uint8_t* last = put_number(put_number(stat, 1, 1), 4, dropped_count);
    end = put_bytes(end, 6, stat, (size_t)(last - stat));
  }
  end = put_bytes(end, 3, line, make_line(line));
  return (size_t)(end - plane);
}

/* XSpace: {1: planes}. Nothing recorded, no bytes. */
static void serialise(void) {
  static uint8_t plane[sizeof space];
  if (kernel_count == 0) return;
  space_size = (size_t)(put_bytes(space, 1, plane, make_plane(plane)) - space);
  kernel_count = 0; /* it is in the bytes now */
}

/* ---- The calls ---- */

/* Begins to record, and forgets what an earlier session left: nobody may have collected it. The
 * status of a call is OK unless something sets another, so success needs no word. */
static void start(const TP_Profiler* profiler, TF_Status* status) {
  (void)profiler; /* a copy, different from call to call */
  (void)status;
  pthread_mutex_lock(&lock);
  kernel_count = dropped_count = 0;
  space_size = 0;
  started_ns = now_ns();
  running = 1;
  pthread_mutex_unlock(&lock);
}

/* Spreads the kernels that the device ran over the session. Without a start it does nothing: a
 * call out of order is no reason to fail. */
static void take_kernels(void) {
  const uint64_t ran = kernels_run();
  const int64_t length = now_ns() - started_ns;
  uint64_t i;
  kernel_count = ran < MOST_KERNELS ? ran : MOST_KERNELS;
  dropped_count = ran - kernel_count;
  for (i = 0; i < kernel_count; ++i) {
    kernels[i].length_ns = length / (int64_t)kernel_count;
    kernels[i].begin_ns = started_ns + (int64_t)i * kernels[i].length_ns;
  }
}

static void stop(const TP_Profiler* profiler, TF_Status* status) {
  (void)profiler;
  (void)status;
  pthread_mutex_lock(&lock);
  if (running) take_kernels();
  running = 0;
  pthread_mutex_unlock(&lock);
}

/* Comes twice. With a null buffer it tells how many bytes there are; *size holds garbage then.
 * With a buffer of *size bytes it fills that, and never writes more. */
static void collect(const TP_Profiler* profiler, uint8_t* buffer, size_t* size, TF_Status* status) {
  (void)profiler;
  (void)status;
  pthread_mutex_lock(&lock);
  if (buffer == NULL) {
    /* Serialised once and held until it is fetched, so that the two sizes agree. */
    if (!running && space_size == 0) serialise();
    *size = space_size;
  } else if (*size >= space_size) {
    memcpy(buffer, space, space_size);
    *size = space_size;
    space_size = 0; /* handed over */
  } else {
    *size = 0; /* too small a buffer: nothing is better than a part */
  }
  pthread_mutex_unlock(&lock);
}

/* TensorFlow calls these on copies, more than once, while the plugin is in use: they are empty. */
static void destroy_profiler(TP_Profiler* profiler) { (void)profiler; }
static void destroy_profiler_fns(TP_ProfilerFns* fns) { (void)fns; }

/* The one symbol that others see. Fills members; never assigns to *params as a whole, because the
 * host's own pointers are in it. */
__attribute__((visibility("default"))) void TF_InitProfiler(TF_ProfilerRegistrationParams* params,
                                                            TF_Status* status) {
  (void)status; /* an error here would end TensorFlow's process */
  /* A host so old that it has no place for our functions: it will see them missing. */
  if (params->struct_size < TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE) return;
  /* Capitals and underscores; a literal, because the pointer is kept. */
  params->profiler->device_type = "EXAMPLE";
  params->profiler_fns->start = start;
  params->profiler_fns->stop = stop;
  params->profiler_fns->collect_data_xspace = collect;
  params->destroy_profiler = destroy_profiler;
  params->destroy_profiler_fns = destroy_profiler_fns;
}
