/* Crosscut's C API: mark what your program does, control a session, add a source of spans.
 *
 * Five rules:
 *  1. Everything may be called from any thread, with or without a session: without one, marking
 *     costs a load and a branch. A signal handler may mark on a thread that has marked before:
 *     what interrupts a mark is counted as lost. Nothing else is async-signal-safe.
 *  2. Nothing here aborts, throws or prints. Functions that can fail return 0 or a CROSSCUT_E*
 *     code; crosscut_error() says more in words.
 *  3. Names are interned once (slow, takes a lock) and used by id for ever (fast, no lock). Ids
 *     are per process, survive stop and start, and are never re-used. 0 is "no name".
 *  4. Spans of one thread nest: crosscut_end() ends the innermost; operations, and spans that cross
 *     others (CROSSCUT_CROSSES), end by crosscut_end_named() alone. What calls the program's code,
 *     which may be a task's, opens and closes (crosscut_open()). Strings are UTF-8, copied.
 *  5. After fork() the child does not record until it calls crosscut_start() or inherits a
 *     session by crosscut_follow_fork(); its interned ids stay valid.
 *
 * The C++ twins at the end (crosscut::Span, crosscut::Operation) are RAII over the same calls.
 */
#ifndef CROSSCUT_CROSSCUT_H_
#define CROSSCUT_CROSSCUT_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define CROSSCUT_API __attribute__((visibility("default")))
#define CROSSCUT_VERSION_MAJOR 0
#define CROSSCUT_VERSION_MINOR 1

/* What kind of work a span is: the columns of the report. The numbers are part of the format. */
enum crosscut_layer {
  CROSSCUT_LAYER_NONE = 0,
  CROSSCUT_PYTHON = 1,
  CROSSCUT_FRAMEWORK = 2,
  CROSSCUT_RUNTIME = 3,
  CROSSCUT_SIMULATOR = 4,
  CROSSCUT_DATA = 5,
  CROSSCUT_COMM = 6,
  CROSSCUT_NATIVE = 7,
  CROSSCUT_IDLE = 8,
  CROSSCUT_OVERHEAD = 9
};

enum crosscut_kind {
  CROSSCUT_SPAN = 0,
  CROSSCUT_OPERATION = 1, /* a row of the report */
  CROSSCUT_STEP = 2,      /* one pass of the main loop; use crosscut_step() */
  CROSSCUT_PHASE = 3,
  CROSSCUT_TEXT = 4 /* argument keys and values */
};

enum crosscut_name_flags {
  CROSSCUT_WAITS = 1,      /* inside it the caller waits for another thread's work */
  CROSSCUT_NO_LAYER = 2,   /* leaves the layer below it in force (implied for operations) */
  CROSSCUT_CALLED_AT = 4,  /* `text` is "NAME@41": line 41 of its Python caller calls NAME */
  CROSSCUT_OVERLOADED = 8, /* `text` is "NAME.OVERLOAD": that one of several operators NAME */
  CROSSCUT_FOUND = 16,   /* of steps and operations: found by an adapter. Such a step is none where
                            it is cut off by one that the program declares; such an operation is
                            told apart from the program's own of its name. Such a request is a
                            task or a call that came again: one only where its process has neither
                            steps nor other requests. */
  CROSSCUT_FRAME = 16,   /* of spans: a call that a hook on calls sees (crosscut_frames) */
  CROSSCUT_CROSSES = 32, /* of spans and operations: may begin in one function and end in another.
                            It ends by crosscut_end_named() alone, and leaves all others open. */
  CROSSCUT_ASYNC = 64,   /* ends wherever and whenever its work does. Begins by crosscut_instant()
                            with the argument "async", a number that is its own while it lasts,
                            and ends by crosscut_async_end() with the same number. */
  CROSSCUT_GOES_ON = 128 /* see crosscut_goes_on() */
};

enum crosscut_error_code {
  CROSSCUT_OK = 0,
  CROSSCUT_EINVAL = 1,
  CROSSCUT_ERUNNING = 2,
  CROSSCUT_ENOTRUNNING = 3,
  CROSSCUT_EIO = 4,
  CROSSCUT_ENOMEM = 5,
  CROSSCUT_EOFF = 6 /* switched off: setuid, unsupported clock, environment */
};

/* Words about this thread's last error; never null, valid until the thread's next call. */
CROSSCUT_API const char* crosscut_error(void);

/* "0.1.0", static. */
CROSSCUT_API const char* crosscut_version(void);

/* ---- Names --------------------------------------------------------------------------------- */

/* Interns `text` (`bytes` long, or up to its NUL where bytes is SIZE_MAX; at most 1 MiB, the rest
 * is cut and marked) with its attributes. `probe` is the name id of the probe kind that records
 * it, for overhead accounting, or 0 for annotations of the user. Equal arguments give equal ids.
 * Where the table is full (2^23 names, or an eighth of the memory cap) the id is that of
 * "(unnamed)" with these attributes, and counts as a loss of reason `names`; 0 without any memory:
 * what is marked with 0 goes by "(unnamed)", too. */
CROSSCUT_API uint32_t crosscut_intern(const char* text, size_t bytes, enum crosscut_kind kind,
                                      enum crosscut_layer layer, unsigned flags, uint32_t probe);

/* The name under which a span of `name` goes on that was ended before: its parts count once. For
 * what is suspended, and for what outlives a span that it began in. 0 where there is no room. */
CROSSCUT_API uint32_t crosscut_goes_on(uint32_t name);
/* crosscut_begin_at() of such a name, telling which span goes on: the one of the name that this
 * thread ended at the tick `ended`; of several, the one around `inside` of them. */
CROSSCUT_API void crosscut_go_on_at(uint32_t name, uint64_t tick, uint64_t ended, uint32_t inside);

/* ---- Marking ------------------------------------------------------------------------------- */

/* A thread's recording state. Opaque but for the words that the inline path reads. */
typedef struct crosscut_thread {
  uint32_t enabled;   /* 0: do not record. Private, wiped in forked children. */
  uint32_t busy;      /* 1: inside a mark, so that a signal handler's is counted as lost */
  uint64_t* position; /* next word to write in the shared ring; never at a chunk's end */
} crosscut_thread;

/* Never null: a shared switched-off state until the thread's first event while recording. */
extern CROSSCUT_API __thread crosscut_thread* crosscut_this_thread
    __attribute__((tls_model("initial-exec")));

/* The out-of-line halves of the inline path below. Not for direct use. */
CROSSCUT_API void crosscut_chunk_end_(crosscut_thread* thread);
CROSSCUT_API void crosscut_mark_slow_(uint64_t code, uint32_t name);

/* Through the shared library: for languages and callers that cannot inline. */
CROSSCUT_API void crosscut_begin(uint32_t name);
CROSSCUT_API void crosscut_end(void);
/* Ends the innermost open span of `name` on this thread and whatever is open above it, but for
 * what ends by itself: above an operation the spans of sources, above another span the
 * operations and those that cross. One that crosses ends alone. */
CROSSCUT_API void crosscut_end_named(uint32_t name);
/* The same, and a begin, at `tick` in place of now: for several edges of one instant. `tick` is
 * what crosscut_now() said on this thread after its last event, or that of its last event. */
CROSSCUT_API void crosscut_end_named_at(uint32_t name, uint64_t tick);
CROSSCUT_API void crosscut_begin_at(uint32_t name, uint64_t tick);
CROSSCUT_API void crosscut_instant(uint32_t name);
/* The end of a span of a name with CROSSCUT_ASYNC, by its number. Recorded in pauses and control
 * steps, too: it began outside of them. */
CROSSCUT_API void crosscut_async_end(uint32_t name, int64_t number);
/* A request: a step with a begin and an end of its own, on any threads, beside others like it.
 * Names are of kind CROSSCUT_STEP with CROSSCUT_ASYNC; that at its end is the request's, so a route
 * may be told once it is known. Returns the request's number; 0 where this thread does not record.
 */
CROSSCUT_API int64_t crosscut_request_begin(uint32_t name);
/* `running_ns`: for how long a thread worked for it; below 0: not known. Recorded in control steps
 * and pauses, too; nothing where `number` is 0. */
CROSSCUT_API void crosscut_request_end(uint32_t name, int64_t number, int64_t running_ns);
CROSSCUT_API void crosscut_counter(uint32_t name, int64_t value);
/* Here the program had a value that cannot be kept (no number, not finite, too large): counted as
 * lost by the reason "value", which the report tells. */
CROSSCUT_API void crosscut_value_lost(void);
/* Attach to the span last begun (or the instant last marked) on this thread. */
CROSSCUT_API void crosscut_arg(uint32_t key, int64_t value);
CROSSCUT_API void crosscut_arg_name(uint32_t key, uint32_t value_name);
/* Arrows: out of the innermost open span here, into the innermost open span there. Ids are unique
 * in the process per arrow: take them from crosscut_flow_id() or from a space of your own with
 * the top bit set. */
CROSSCUT_API uint64_t crosscut_flow_id(void);
CROSSCUT_API void crosscut_flow_out(uint64_t flow);
CROSSCUT_API void crosscut_flow_in(uint64_t flow);
/* A span that was timed elsewhere, in ticks of crosscut_now(); may be in the past. */
CROSSCUT_API void crosscut_span_at(uint32_t name, uint64_t begin_tick, uint64_t end_tick);
/* Memory of the host that an allocator hands out and takes back: instants, three words and two. */
CROSSCUT_API void crosscut_allocated(const void* address, uint64_t bytes);
CROSSCUT_API void crosscut_freed(const void* address);
/* The same for one that came back earlier, at a tick of crosscut_now(), unrecorded. */
CROSSCUT_API void crosscut_freed_at(const void* address, uint64_t tick);

/* Memory of any device, by an allocator that knows its totals. */
typedef struct crosscut_memory {
  uint32_t device_type; /* numbers of PyTorch's c10::DeviceType: 0 the CPU, 1 CUDA, ... */
  int32_t device_index; /* -1: the type has but one */
  uint64_t address;
  int64_t bytes;           /* < 0: freed */
  int64_t total_allocated; /* on the device, from now on */
  int64_t total_reserved;
} crosscut_memory;
CROSSCUT_API void crosscut_memory_changed(const crosscut_memory* change);
/* `bytes` were asked for and could not be had; totals as they are. */
CROSSCUT_API void crosscut_out_of_memory(const crosscut_memory* asked);
/* For a hook on calls, of which those run already when it goes in, and those go on when it is out:
 * spans of names with CROSSCUT_FRAME. In: told before its first event. Out: told after its last;
 * such spans end here, on all threads. */
CROSSCUT_API void crosscut_frames(int in);
/* What runs on this thread when such a hook meets it first: told call by call, outermost first,
 * with how many are still to come, before anything else of the hook's on this thread. `begun`: a
 * native call that began its span in this session, if the event found room; it ends as ever. */
CROSSCUT_API void crosscut_running(uint32_t name, uint32_t to_come, int begun);
/* The layer of this thread outside every span, from now on: CROSSCUT_PYTHON on Python threads. */
CROSSCUT_API void crosscut_base(enum crosscut_layer layer);

/* The recorder's clock: raw ticks (TSC where invariant, else CLOCK_MONOTONIC ns). */
CROSSCUT_API uint64_t crosscut_now(void);
CROSSCUT_API double crosscut_ns_per_tick(void);
/* 1 while this thread's events are recorded. */
static inline int crosscut_recording(void) {
  return __atomic_load_n(&crosscut_this_thread->enabled, __ATOMIC_RELAXED) != 0;
}

/* ---- Tasks --------------------------------------------------------------------------------- */

/* Coroutines and greenlets take turns on a thread, and what one has open must not stay open while
 * another runs. Operations, and spans around code of the program's, are therefore opened and closed
 * (crosscut_open() and crosscut_close() below): where the thread runs tasks, they end while theirs
 * is suspended and go on with it; elsewhere they begin and end as ever. */

#define CROSSCUT_TASK_LOCALS 8 /* so many crosscut_task_local() */

/* Who knows which task each thread runs: Python's part of Crosscut. Any thread, none of our locks
 * held. */
typedef struct crosscut_tasks {
  size_t struct_size;
  /* Opens on this thread; 0 where it runs no tasks. */
  int (*open)(uint32_t name);
  /* Closes; 0 where none of that name was opened by open() on this thread. */
  int (*close)(uint32_t name);
  /* One that another thread had opened has ended here, and that is told: it goes on nowhere. */
  void (*forget)(uint32_t name);
} crosscut_tasks;

/* From now on some threads run tasks; `tasks` stays. */
CROSSCUT_API void crosscut_follow_tasks(const crosscut_tasks* tasks);
/* A variable of each thread that belongs to the task that the thread runs, 0 in a new one: its
 * address, asked on the thread. CROSSCUT_ENOMEM beyond CROSSCUT_TASK_LOCALS of them. */
CROSSCUT_API int crosscut_task_local(int32_t* (*of_this_thread)(void));
/* Where this thread has these variables; returns how many. */
CROSSCUT_API int crosscut_task_locals(int32_t* addresses[CROSSCUT_TASK_LOCALS]);
/* See crosscut_tasks. */
CROSSCUT_API void crosscut_task_forget(uint32_t name);

/* The out-of-line halves of crosscut_open() and crosscut_close(). Not for direct use. */
extern CROSSCUT_API uint32_t crosscut_tasks_followed_;
CROSSCUT_API int crosscut_open_(uint32_t name);
CROSSCUT_API void crosscut_close_(uint32_t name);

/* ---- Operations, steps, phases ------------------------------------------------------------- */

/* Steps: ends the current step of the process, if any, and begins the next; the thread that makes
 * most steps is the lead unless crosscut_lead() named one. `kind` (a name id of kind STEP, or 0
 * for "step") tells kinds of steps apart. Applies the step plan: may switch sources off and on,
 * on this thread, before it returns. Returns the number of the step that begins, from 0. */
CROSSCUT_API uint64_t crosscut_step(uint32_t kind);
CROSSCUT_API void crosscut_step_end(void);
CROSSCUT_API void crosscut_lead(void);
/* A phase lasts until the next call or the end; null ends it. Per process. */
CROSSCUT_API void crosscut_phase(const char* name);
/* How much of the whole program is done, from 0 to 1: the table `progress`
 * extrapolates from it. Recorded in pauses and control steps, too; others are lost values. */
CROSSCUT_API void crosscut_progress(double fraction);
CROSSCUT_API void crosscut_process_name(const char* name);
/* A fact of the process that the report shows: key and value, copied. */
CROSSCUT_API void crosscut_meta(const char* key, const char* value);

/* ---- Session ------------------------------------------------------------------------------- */

enum crosscut_policy { CROSSCUT_DROP_NEWEST = 0, CROSSCUT_FLIGHT_RECORDER = 1 };

typedef struct crosscut_options {
  size_t struct_size;  /* sizeof(crosscut_options) */
  const char* run_dir; /* null: CROSSCUT_RUN, else ./crosscut-<pid>; made if absent (0700) */
  size_t memory_bytes; /* cap on everything we hold; 0: CROSSCUT_MEMORY (MiB), else 64 MiB */
  enum crosscut_policy policy;
  double keep_seconds;    /* flight recorder: how far back a snapshot reaches */
  double control_percent; /* share of steps that are control steps; < 0: CROSSCUT_CONTROL_STEPS,
                             else the plan's */
  uint64_t seed;          /* of the step plan; 0: CROSSCUT_SEED, else from the run */
  const char* plan;       /* "light", "balanced", "full" or shares of the steps in per cent, like
                             "operators=10,everything=2" (the rest: boundary); null:
                             CROSSCUT_PLAN, else balanced, for windows on demand full */
  double budget_percent;  /* how much longer the steps may take on the mean, in per cent of the
                             program's own time: fewer are recorded where the plan costs more.
                             0: CROSSCUT_BUDGET, else 2 where no plan is named; < 0: no limit */
} crosscut_options;

/* Opens this process's log in the run directory and begins to record. `options` may be null.
 * CROSSCUT_ERUNNING if a session is open. Takes about a millisecond. */
CROSSCUT_API int crosscut_start(const crosscut_options* options);
/* Disarms and returns; what is in the ring is written behind the program's back, and what is left
 * there when the process ends by `crosscut record` or whoever reads the run on this machine. */
CROSSCUT_API int crosscut_stop(void);
CROSSCUT_API int crosscut_pause(void); /* time until resume is excluded from the window */
CROSSCUT_API int crosscut_resume(void);
/* Flight recorder: write out what is kept now; returns when it is on disk. */
CROSSCUT_API int crosscut_snapshot(void);
/* Returns when all that was recorded so far is in the run directory, also after stop: for who
 * copies or sends it while the process lives. CROSSCUT_EIO after 10 s, or where the log can be
 * written no more; CROSSCUT_ENOTRUNNING where this process has not recorded. */
CROSSCUT_API int crosscut_flush(void);
/* Stops the plugins (plugin.h) and waits for what they hand over, at most until their deadlines:
 * for runtimes that end before exit(). Nothing to do where none is loaded. */
CROSSCUT_API void crosscut_plugins_finish(void);
/* 1 between start and stop. */
CROSSCUT_API int crosscut_active(void);
/* How many sessions this process has begun: spans open in one are ended in the next. */
CROSSCUT_API uint32_t crosscut_sessions(void);
/* 1 in a control step of the step plan, and while sources are switched for one. */
CROSSCUT_API int crosscut_in_control(void);
/* How much of the program's time recording may cost, as a share like 0.02, as long as the session
 * has no step: sources that cost more than that rest by themselves. 0: no limit, or the steps have
 * begun, whose levels keep it. */
CROSSCUT_API double crosscut_budget_before_steps(void);
/* From here on everything is recorded of every step, whatever plan and budget say, until it is
 * called with 0 or the session ends; these steps count in no comparison. CROSSCUT_ENOTRUNNING where
 * no session is open or it is paused. */
CROSSCUT_API int crosscut_whole(int on);
/* Where this process records, "" when it does not. Valid until the next start. */
CROSSCUT_API const char* crosscut_run_dir(void);
/* This process's key in its run (its log's file name without ".crosscut"), "" when it does neither
 * record nor wait to be asked. Valid until the next start. Children learn it as CROSSCUT_PARENT. */
CROSSCUT_API const char* crosscut_process_key(void);
/* Forked children: 1 = a child opens its own log at its first event (how `crosscut record` runs),
 * 0 = children stay off (default). */
CROSSCUT_API void crosscut_follow_fork(int on);

/* ---- On demand ----------------------------------------------------------------------------- */

/* Makes this process ready for `crosscut start|stop|snapshot`, and records nothing: opens its log
 * in the run directory, maps its ring and starts a thread that sleeps until it is asked. Windows
 * are sessions of the log opened here, with these options; a crosscut_start() of the program itself
 * begins one, too, and takes no other run directory. crosscut_step() counts while nothing records,
 * so that windows of many processes can begin at the same step; its numbers are never reset.
 * A forked child is not armed. CROSSCUT_ERUNNING where a session is open or this was done. */
CROSSCUT_API int crosscut_arm(const crosscut_options* options);
CROSSCUT_API int crosscut_armed(void); /* 1 after crosscut_arm() */

/* For programs whose hooks belong to threads of their own. Without one, a request that waits for no
 * step is carried out on the library's thread. */
typedef struct crosscut_program {
  size_t struct_size; /* sizeof(crosscut_program) */
  void* self;
  /* On the library's thread: have crosscut_serve() called soon, on a thread of yours. Returns 0, or
   * anything else to be asked again. Where it is not called for 200 ms, the library's thread does
   * it itself. May be null. */
  int (*call)(void* self);
  /* On the thread that carries out the request, or calls crosscut_start() or crosscut_stop():
   * `begins` 1 just before a window begins, 0 just after it ended. Add and withdraw here what makes
   * spans. Another thread may be told of the next window meanwhile: let go one at a time, and
   * withdraw only where crosscut_in_window() is 0. May be null. */
  void (*window)(void* self, int begins);
} crosscut_program;
CROSSCUT_API int crosscut_on_demand(const crosscut_program* program);
/* 1 from before crosscut_program.window is told that a window begins until the window has ended. */
CROSSCUT_API int crosscut_in_window(void);
/* Carries out the request that waits, if any: starts or stops, on the calling thread; within
 * crosscut_program.window once that is over. */
CROSSCUT_API void crosscut_serve(void);

/* ---- Sources ------------------------------------------------------------------------------- */

/* A source is whatever produces spans by hooks: PyTorch operators, the Python boundary. The step
 * plan switches it between levels at step edges. */
enum crosscut_level {
  CROSSCUT_LEVEL_CONTROL = 0,    /* hooks withdrawn: nothing of the source runs */
  CROSSCUT_LEVEL_BOUNDARY = 1,   /* only the boundary between Python and native code */
  CROSSCUT_LEVEL_OPERATORS = 2,  /* and operators, lean: names and links */
  CROSSCUT_LEVEL_EVERYTHING = 3, /* and whatever else was asked for: shapes, memory, Python calls */
  CROSSCUT_LEVEL_MARKS = 4       /* for steps that the budget leaves out, between CONTROL and
                                    BOUNDARY: what the program itself marks, operations, scopes,
                                    collectives, devices, samples */
};

typedef struct crosscut_source {
  size_t struct_size; /* sizeof(crosscut_source) */
  const char* name;   /* copied, as are version and message */
  const char* version;
  void* self;
  /* Put the hooks in place for `level` or withdraw them; returns 0 or an error code. Called with
   * no lock of ours held, never concurrently for one source, on the thread that calls
   * crosscut_step(), _start(), _stop(), _pause() or _resume(); never after
   * crosscut_source_remove() returned. On LEVEL_CONTROL nothing of the source may run after it
   * returned, except calls that are in flight and, where crosscut_in_control(), hooks that
   * nothing has come through yet: one that something comes through withdraws itself. Where a
   * session stops in a control step, LEVEL_CONTROL is set again, for good. */
  int (*set_level)(void* self, enum crosscut_level level);
  /* Measures what one event of each of the source's probe kinds costs on this machine and reports
   * it by crosscut_probe_cost(). Called once, before the first set_level() above CONTROL, on its
   * thread; nothing that it marks is recorded. May be null. */
  void (*calibrate)(void* self);
  /* 1: set_level() knows LEVEL_MARKS. 0, or where struct_size ends before: it gets CONTROL then. */
  int marks;
} crosscut_source;

/* Registers; while a session records, the source is switched to the current level at once.
 * Returns a handle > 0, or 0 (see crosscut_error()). */
CROSSCUT_API int crosscut_source_add(const crosscut_source* source);
/* Switches to CONTROL and forgets the source. */
CROSSCUT_API void crosscut_source_remove(int handle);
/* A line of the table `sources`: state is "on", "off", "missing", "conflict", "failed", or
 * "not asked for", which is told where no process has the source on. */
CROSSCUT_API void crosscut_source_state(const char* name, const char* version, const char* state,
                                        const char* message);
/* The cost of one event of `probe` (a name id of kind TEXT): inside its span, outside it, and a
 * 95 % interval of their sum; picoseconds. */
CROSSCUT_API void crosscut_probe_cost(uint32_t probe, int64_t inside_ps, int64_t outside_ps,
                                      int64_t low_ps, int64_t high_ps, int64_t samples);

/* Keeps a profile that a source collected while this session recorded: `size` bytes of `format`
 * ("xspace": a serialised tensorflow.profiler.XSpace), copied into the run directory and understood
 * when the run is read. Times in it are ns of CLOCK_REALTIME, right to +- `error_ns`, or count from
 * `begin_realtime_ns` where they are smaller than it. Writes a file before it returns. Returns 0 or
 * an error code; CROSSCUT_ENOTRUNNING without a session. */
CROSSCUT_API int crosscut_collected(const char* source, const char* format, const void* bytes,
                                    size_t size, int64_t begin_realtime_ns, int64_t error_ns);

/* The program starts or ends a profiler of its own (torch.profiler, Kineto, jax.profiler): `who`,
 * for the report. A device's profiling interface perhaps serves one tool at a time, so plugins let
 * go of it before such a profiler starts and have it again when it has ended. STARTS comes before a
 * start, STARTED behind it (ENDED where it failed), ENDS before an end, ENDED behind it. Any
 * thread; waits for the plugins, some milliseconds as a rule and seconds where a device's library
 * is slow. Returns 0 or CROSSCUT_EINVAL. Crosscut announces the profilers of PyTorch, JAX and
 * TensorFlow in Python programs itself. */
enum crosscut_profiler_moment {
  CROSSCUT_PROFILER_STARTS = 0,
  CROSSCUT_PROFILER_STARTED = 1,
  CROSSCUT_PROFILER_ENDS = 2,
  CROSSCUT_PROFILER_ENDED = 3
};
CROSSCUT_API int crosscut_other_profiler(const char* who, enum crosscut_profiler_moment moment);

/* A setting of plugins, `key` as in `--plugin FILE,key=value`, for those that ask for it from now
 * on: before what the command line and the environment say. Null as `value` takes it back. Plugins
 * that record are flushed, so that one whose settings may change then has followed when this
 * returns (the CUPTI plugin does with `metrics`). Copied; any thread. Returns 0 or an error code.
 */
CROSSCUT_API int crosscut_plugin_option(const char* key, const char* value);

/* ---- The inline path ----------------------------------------------------------------------- */

/* CROSSCUT_TICKS(): the clock of event words where it can be read inline. The library refuses to
 * enable the inline path on machines whose TSC is not invariant: there enabled stays 0 for it and
 * marking goes through the slow path with clock_gettime. */
static inline uint64_t crosscut_ticks_(void) {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t t;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
  return t;
#else
  return crosscut_now();
#endif
}

/* Whether this thread's events can be written inline: it records and is inside no mark. */
static inline int crosscut_inline_(const crosscut_thread* thread, uint32_t enabled) {
  return __builtin_expect(((enabled ^ 1) | __atomic_load_n(&thread->busy, __ATOMIC_RELAXED)) == 0,
                          1);
}

/* The one writer of events into a thread's chunk, where crosscut_inline_(): the event `code` at
 * `tick` (0: now) and the `n` words behind it; bit i of `heads` says that words[i] is the code of a
 * further event, of the same instant. The store of the first word publishes them all, and is the
 * only one where n is 0 (words are never 0). Returns 0 where it takes more than stores: mark out of
 * line then. */
static inline int crosscut_write_(uint64_t tick, uint64_t code, const uint64_t* words, unsigned n,
                                  unsigned heads) {
  crosscut_thread* thread = crosscut_this_thread;
  __atomic_store_n(&thread->busy, 1, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  uint64_t* at = thread->position;
  /* Once more: whoever switched recording off and sees no `busy` may take the ring away. Several
   * words keep off a chunk's last one. */
  int written = __atomic_load_n(&thread->enabled, __ATOMIC_RELAXED) == 1 &&
                (n == 0 || (0x10000 - ((uintptr_t)at & 0xffff)) / 8 > n + 1);
  if (__builtin_expect(written, 1)) {
    tick = (tick != 0 ? tick : crosscut_ticks_()) << 16;
    for (unsigned i = 0; i < n; ++i) {
      __atomic_store_n(at + 1 + i, (heads >> i & 1) != 0 ? tick | words[i] : words[i],
                       __ATOMIC_RELEASE);
    }
    __atomic_store_n(at, tick | code, __ATOMIC_RELEASE);
    thread->position = at += n + 1;
    if (__builtin_expect(((uintptr_t)at & 0xffff) == 0, 0)) crosscut_chunk_end_(thread);
  }
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  /* Who sees it has the words, too. */
  __atomic_store_n(&thread->busy, 0, __ATOMIC_RELEASE);
  return written;
}

static inline void crosscut_mark_(uint64_t code) {
  crosscut_thread* thread = crosscut_this_thread;
  uint32_t enabled = __atomic_load_n(&thread->enabled, __ATOMIC_RELAXED);
  if (!crosscut_inline_(thread, enabled)) {
    if (enabled != 0) crosscut_mark_slow_(code, 0);
  } else if (__builtin_expect(!crosscut_write_(0, code, &code, 0, 0), 0)) {
    crosscut_mark_slow_(code, 0);
  }
}

/* Ids up to 65535 cost one word, larger ones three. */
static inline void crosscut_begin_inline(uint32_t name) {
  if (__builtin_expect(name - 0x100u <= 0xfeffu, 1)) {
    crosscut_mark_(name);
  } else if (__atomic_load_n(&crosscut_this_thread->enabled, __ATOMIC_RELAXED) != 0) {
    crosscut_begin(name);
  }
}
static inline void crosscut_end_inline(void) { crosscut_mark_(1); }

/* What crosscut_open() returned is for its crosscut_close(). */
static inline int crosscut_open(uint32_t name) {
  if (__builtin_expect(__atomic_load_n(&crosscut_tasks_followed_, __ATOMIC_RELAXED) != 0, 0)) {
    return crosscut_open_(name);
  }
  crosscut_begin_inline(name);
  return 0;
}
static inline void crosscut_close(uint32_t name, int opened) {
  if (__builtin_expect(opened != 0, 0)) {
    crosscut_close_(name);
  } else {
    crosscut_end_named(name);
  }
}

#ifdef __cplusplus
}  // extern "C"

#if __cplusplus >= 201703L
#include <string_view>
#else
#include <string>
#endif

namespace crosscut {

#if __cplusplus >= 201703L
typedef std::string_view Text;
#else
typedef const std::string& Text;
#endif

// Interns once, at the first pass: static crosscut::Name kStep("physics", CROSSCUT_SIMULATOR);
class Name {
 public:
  explicit Name(Text text, crosscut_layer layer = CROSSCUT_NATIVE,
                crosscut_kind kind = CROSSCUT_SPAN)
      : id_(crosscut_intern(text.data(), text.size(), kind, layer, 0, 0)) {}
  uint32_t id() const { return id_; }

 private:
  uint32_t id_;
};

// A span from construction to destruction, on the constructing thread.
class Span {
 public:
  explicit Span(const Name& name) { crosscut_begin_inline(name.id()); }
  ~Span() { crosscut_end_inline(); }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
};

// An operation: a row of the report. `name` is interned at each construction (a hash lookup under
// a lock); keep a Name of kind CROSSCUT_OPERATION where that matters.
class Operation {
 public:
  explicit Operation(Text name) : Operation(Name(name, CROSSCUT_LAYER_NONE, CROSSCUT_OPERATION)) {}
  explicit Operation(const Name& name) : id_(name.id()), opened_(crosscut_open(id_)) {}
  ~Operation() { crosscut_close(id_, opened_); }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

 private:
  uint32_t id_;
  int opened_;
};

}  // namespace crosscut
#endif /* __cplusplus */

#endif /* CROSSCUT_CROSSCUT_H_ */
