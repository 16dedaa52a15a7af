/* The plugin ABI: one small shared library brings the spans of an accelerator into Crosscut and
 * into TensorFlow.
 *
 * The first part is TensorFlow's pluggable-profiler C API as TensorFlow ships it (0.0.1, since
 * 2.7): same names, order and sizes, so one source builds for both, with this header alone or with
 * TensorFlow's (include that one first, then this). The second part is what Crosscut's host offers
 * beyond it, chained from `params->ext`; a plugin that does not look there misses nothing.
 * docs/plugin-abi.md has the life cycle and a worked example; examples/plugin.c explains each line.
 *
 * Five rules:
 *  1. Export TF_InitProfiler with default visibility and nothing else. It fills members of the
 *     structs it is given, and leaves `*params` itself, its sizes and pointers alone.
 *  2. Calls come in the order start, stop, collect (twice), each at most once per session, from a
 *     thread that may differ from call to call; sessions repeat any number of times. A session may
 *     end without collect: what it recorded is dropped at the next start.
 *  3. No device, or no work on it, is no error and no output: write *size = 0.
 *  4. Nothing may leave a call but its return: no exception, no longjmp, no exit. The structs
 *     handed to calls are copies: keep state under `ext` of TP_Profiler, not under their address.
 *     Strings you hand over live as long as the process; so does the library.
 *  5. TensorFlow runs the two destroy functions on copies, more than once, before first use: a
 *     later start must not miss what they free. It ends the process where TF_InitProfiler fails:
 *     rather register functions that do nothing.
 */
#ifndef CROSSCUT_PLUGIN_H_
#define CROSSCUT_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- As TensorFlow ships it ------------------------------------------------------------------ */

#ifndef TENSORFLOW_C_TF_STATUS_H_
/* Opaque. A new one is OK, so success needs no call. In TensorFlow the functions come with its
 * libtensorflow_framework.so.2; Crosscut brings a library of that name where TensorFlow is not. */
typedef struct TSL_Status TF_Status;
typedef enum TF_Code {
  TF_OK = 0,
  TF_CANCELLED = 1,
  TF_UNKNOWN = 2,
  TF_INVALID_ARGUMENT = 3,
  TF_DEADLINE_EXCEEDED = 4,
  TF_NOT_FOUND = 5,
  TF_ALREADY_EXISTS = 6,
  TF_PERMISSION_DENIED = 7,
  TF_RESOURCE_EXHAUSTED = 8,
  TF_FAILED_PRECONDITION = 9,
  TF_ABORTED = 10,
  TF_OUT_OF_RANGE = 11,
  TF_UNIMPLEMENTED = 12,
  TF_INTERNAL = 13,
  TF_UNAVAILABLE = 14,
  TF_DATA_LOSS = 15,
  TF_UNAUTHENTICATED = 16
} TF_Code;
extern void TF_SetStatus(TF_Status* status, TF_Code code, const char* message);
#endif

#ifndef TP_MAJOR /* TensorFlow's own header was not included before */
#define TP_MAJOR 0
#define TP_MINOR 0
#define TP_PATCH 1

#ifndef TF_OFFSET_OF_END
/* The size of a struct up to and with `MEMBER`: what struct_size says. */
#define TF_OFFSET_OF_END(TYPE, MEMBER) (offsetof(TYPE, MEMBER) + sizeof(((TYPE*)0)->MEMBER))
#endif

typedef struct TP_Profiler {
  size_t struct_size; /* set by the host */
  void* ext;          /* the plugin's own: no host reads it */
#ifdef CROSSCUT_PLUGIN_RFC_NAMES
  const char* type; /* the member's name in the RFC */
#else
  const char* device_type; /* a capital letter, then capitals and underscores: "MYCHIP" */
#endif
} TP_Profiler;
#ifdef CROSSCUT_PLUGIN_RFC_NAMES
#define TP_PROFILER_STRUCT_SIZE TF_OFFSET_OF_END(TP_Profiler, type)
#else
#define TP_PROFILER_STRUCT_SIZE TF_OFFSET_OF_END(TP_Profiler, device_type)
#endif

typedef struct TP_ProfilerFns {
  size_t struct_size; /* set by the host */
  void* ext;
  /* Begins to record. Drops what an earlier session left. */
  void (*start)(const TP_Profiler* profiler, TF_Status* status);
  /* Ends recording. */
  void (*stop)(const TP_Profiler* profiler, TF_Status* status);
  /* First with buffer null: writes the number of bytes to *size, which holds nothing on entry;
   * 0 where there is nothing, or on any error. Then with a buffer of *size bytes: fills it with a
   * serialised XSpace and never writes more than *size. */
  void (*collect_data_xspace)(const TP_Profiler* profiler, uint8_t* buffer, size_t* size,
                              TF_Status* status);
} TP_ProfilerFns;
#define TP_PROFILER_FNS_STRUCT_SIZE TF_OFFSET_OF_END(TP_ProfilerFns, collect_data_xspace)

typedef struct TF_ProfilerRegistrationParams {
  size_t struct_size;    /* set by the host */
  void* ext;             /* from Crosscut: a chain of crosscut_extension; from TensorFlow: null */
  int32_t major_version; /* the host's TP_MAJOR, TP_MINOR, TP_PATCH */
  int32_t minor_version;
  int32_t patch_version;
  TP_Profiler* profiler;        /* to fill */
  TP_ProfilerFns* profiler_fns; /* to fill */
  void (*destroy_profiler)(TP_Profiler* profiler);
  void (*destroy_profiler_fns)(TP_ProfilerFns* profiler_fns);
} TF_ProfilerRegistrationParams;
#define TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE \
  TF_OFFSET_OF_END(TF_ProfilerRegistrationParams, destroy_profiler_fns)

/* The entry point. */
extern void TF_InitProfiler(TF_ProfilerRegistrationParams* params, TF_Status* status);
#endif /* TP_MAJOR */

/* ---- What Crosscut's host adds --------------------------------------------------------------- */

/* The head of every member of the chain. Look for a `kind` that you know, and use of it only what
 * lies within its struct_size. Read-only, alive as long as the process. */
typedef struct crosscut_extension {
  size_t struct_size;
  uint64_t magic;   /* CROSSCUT_EXTENSION_MAGIC in every member */
  uint32_t kind;    /* enum crosscut_extension_kind */
  uint32_t version; /* raised only where an older reader would go wrong */
  const struct crosscut_extension* next;
} crosscut_extension;
#define CROSSCUT_EXTENSION_MAGIC UINT64_C(0x3154584554554343) /* "CCUTEXT1" */
enum crosscut_extension_kind { CROSSCUT_EXTENSION_HOST = 1 };

/* A device's work, or a call of its run-time API on the host. The numbers are those of enum
 * crosscut_layer (crosscut.h), which has more. */
enum crosscut_plugin_layer { CROSSCUT_ON_HOST_RUNTIME = 3, CROSSCUT_ON_DEVICE = 10 };

/* Clocks that the host knows; a plugin's own come from crosscut_host.clock(). */
enum crosscut_plugin_clock { CROSSCUT_CLOCK_MONOTONIC = 1, CROSSCUT_CLOCK_REALTIME = 2 };

/* A timeline of the device: a queue or stream. Spans on it nest or do not touch. */
typedef struct crosscut_track {
  size_t struct_size;      /* sizeof(crosscut_track) */
  int64_t device;          /* 0, 1, ... */
  uint64_t queue;          /* its number or address: what tells the tracks of one device apart */
  uint32_t clock;          /* of the times pushed on it; 0: CROSSCUT_CLOCK_MONOTONIC */
  const char* name;        /* "Queue 1"; copied */
  const char* device_name; /* "MYCHIP 9000"; copied, may be null */
} crosscut_track;

/* Of the program's own profilers, all together. */
enum crosscut_profilers {
  CROSSCUT_PROFILERS_NONE = 0,     /* the device is yours */
  CROSSCUT_PROFILERS_CHANGING = 1, /* one is about to start or to end */
  CROSSCUT_PROFILERS_RUNNING = 2   /* one runs, and none is about to */
};

/* What the host asks of a plugin between start and stop, beyond the ABI above. Every function may
 * be null and gets `self`; the host calls one at a time, on a thread of its own but for set_level
 * and other_profiler. */
typedef struct crosscut_plugin_callbacks {
  size_t struct_size; /* sizeof(crosscut_plugin_callbacks) */
  void* self;
  /* Push what is buffered: now and then, before stop, and where the user wants a snapshot. */
  void (*flush)(void* self);
  /* How much to record, by enum crosscut_level (crosscut.h): 0 = no more than a branch per call,
   * 1 to 3 = record (1 also where only marks are). Called at step edges on the program's own
   * thread, so store it and return. */
  void (*set_level)(void* self, uint32_t level);
  /* Measure what an event of each of your probes costs, and tell it by probe_cost(). Once, before
   * the first start, on the host's thread, on which pushes then cost what they cost while
   * recording and are kept nowhere. */
  void (*calibrate)(void* self);
  /* The program's own profilers (torch.profiler, jax.profiler) use the device's profiling interface
   * which perhaps serves one tool at a time. Called on the program's thread that starts or ends
   * one, between start and stop or before: when a call with STARTING returns, nothing of yours
   * stands in its way. `who` is the one that the call is about. Threads may overtake each other:
   * a call whose `order` is not above that of an earlier one is to be left out. */
  void (*other_profiler)(void* self, const char* who, enum crosscut_profilers state,
                         uint64_t order);
} crosscut_plugin_callbacks;

/* Push rather than encode: spans go straight into the run, survive the program's death, and no
 * XSpace is needed. Valid from TF_InitProfiler on, from any thread. No call blocks on another
 * thread of the program, and none fails but by returning 0; what is pushed under id 0 or outside
 * start and stop is dropped. Strings are UTF-8 and copied. */
typedef struct crosscut_host {
  crosscut_extension head; /* kind CROSSCUT_EXTENSION_HOST, version 1 */
  void* host;              /* first argument of every function */

  /* A setting of this plugin, by `--plugin FILE,key=value` or the environment variable
   * CROSSCUT_PLUGIN_<KEY>, or, before both, the program's own (crosscut_plugin_option(), which may
   * change while it runs); null where there is none. Lives as long as the process. */
  const char* (*option)(void* host, const char* key);
  /* The plugin's line in the report: state "on", "off", "missing", "conflict" or "failed", and
   * why, in words for its user. */
  void (*tell)(void* host, const char* version, const char* state, const char* message);
  void (*set_callbacks)(void* host, const crosscut_plugin_callbacks* callbacks); /* copied */

  /* Ids: equal arguments give equal ids, 0 = no room. Slow (a lock): keep them. */
  /* What is recorded at one kind of place; its cost is subtracted from the program's time. */
  uint32_t (*probe)(void* host, const char* text);
  /* The name of spans: at most 1 MiB (`bytes` = SIZE_MAX: up to its NUL), a layer of enum
   * crosscut_plugin_layer, the probe that records it or 0. */
  uint32_t (*name)(void* host, const char* text, size_t bytes, uint32_t layer, uint32_t probe);
  /* A key or a value of arguments. */
  uint32_t (*word)(void* host, const char* text, size_t bytes);
  uint32_t (*track)(void* host, const crosscut_track* track);

  /* Spans of the calling thread, stamped now: the device's run-time API. They nest. */
  void (*begin)(void* host, uint32_t name);
  void (*end)(void* host);
  /* An arrow from the innermost open span of the calling thread to work on a device: pass what
   * this returns (never 0 while recording) to flow_in when that work is pushed, once or more. */
  uint64_t (*flow_out)(void* host);

  /* On a track, in any order, any time after they happened. Times: ns of the track's clock. */
  void (*span)(void* host, uint32_t track, uint32_t name, int64_t begin_ns, int64_t end_ns);
  void (*instant)(void* host, uint32_t track, uint32_t name, int64_t at_ns);
  void (*counter)(void* host, uint32_t track, uint32_t name, int64_t at_ns, int64_t value);
  /* Of what the calling thread last began or pushed: an argument (key by word()); the arrow's end.
   */
  void (*arg)(void* host, uint32_t key, int64_t value);
  void (*arg_word)(void* host, uint32_t key, uint32_t value);
  void (*flow_in)(void* host, uint64_t flow);
  /* `count` events of the track between two moments of its clock (0: of any, of CLOCK_MONOTONIC)
   * are missing: the plugin's own buffer was full. */
  void (*lost)(void* host, uint32_t track, uint64_t count, int64_t begin_ns, int64_t end_ns);

  /* CLOCK_MONOTONIC, ns. */
  int64_t (*now_ns)(void* host);
  /* A clock of the device's own. Read it at least before the first and after the last event; more
   * readings follow its drift. */
  uint32_t (*clock)(void* host, const char* name);
  /* When CLOCK_MONOTONIC was host_ns, the clock was device_ns; host_ns is right to +- error_ns. */
  void (*reading)(void* host, uint32_t clock, int64_t host_ns, int64_t device_ns, int64_t error_ns);

  /* The cost of one event of `probe`: inside its span and outside it, and an interval that holds
   * their sum in 95 of 100 cases; picoseconds. */
  void (*probe_cost)(void* host, uint32_t probe, int64_t inside_ps, int64_t outside_ps,
                     int64_t low_ps, int64_t high_ps, int64_t samples);
} crosscut_host;

/* The host in the chain at `params->ext`; null where another program than Crosscut loads us. */
static inline const crosscut_host* crosscut_host_of(const TF_ProfilerRegistrationParams* params) {
  const crosscut_extension* at = (const crosscut_extension*)params->ext;
  while (at && at->magic == CROSSCUT_EXTENSION_MAGIC) {
    if (at->kind == CROSSCUT_EXTENSION_HOST && at->version == 1 &&
        at->struct_size >= sizeof(crosscut_host)) {
      return (const crosscut_host*)at;
    }
    at = at->next;
  }
  return 0; /* NOLINT(modernize-use-nullptr): C */
}

#ifdef __cplusplus
}
#endif
#endif /* CROSSCUT_PLUGIN_H_ */
