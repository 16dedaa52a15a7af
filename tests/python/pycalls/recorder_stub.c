/* A recorder for tests: the part of crosscut.h that _pycalls uses, keeping what was marked in
 * memory, in order and per thread, for Python to read through ctypes. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crosscut/crosscut.h"

enum { kChunkBytes = 64 << 10, kMaxChunks = 4096, kMaxNames = 70000, kMaxThreads = 512 };

struct name {
  char* text;
  int kind, layer;
  unsigned flags;
  uint32_t probe;
};
struct state {
  crosscut_thread thread; /* first: the inline path's view */
  int index;
};
struct event {
  int32_t thread, code;
  uint32_t name, reserved;
  uint64_t tick;
};

static crosscut_thread g_off;
__thread crosscut_thread* crosscut_this_thread = &g_off;
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static struct name g_names[kMaxNames];
static uint32_t g_next_name = 0x100;
static struct state* g_states[kMaxThreads];
static int g_threads;
static struct {
  int thread;
  uint64_t* words;
} g_chunks[kMaxChunks];
static int g_chunk_count;
static crosscut_source g_source;
static int g_level, g_recording;
static char g_log[1 << 16];

static void Log(const char* line) {
  const size_t used = strlen(g_log);
  snprintf(g_log + used, sizeof g_log - used, "%s\n", line);
}

const char* crosscut_error(void) { return ""; }
const char* crosscut_version(void) { return "test"; }

uint32_t crosscut_intern(const char* text, size_t bytes, enum crosscut_kind kind,
                         enum crosscut_layer layer, unsigned flags, uint32_t probe) {
  if (bytes == SIZE_MAX) bytes = strlen(text);
  pthread_mutex_lock(&g_lock);
  uint32_t id = 0x100;
  for (; id < g_next_name; ++id) {
    const struct name* n = &g_names[id];
    if (strlen(n->text) == bytes && memcmp(n->text, text, bytes) == 0 && n->kind == (int)kind &&
        n->layer == (int)layer && n->flags == flags && n->probe == probe) {
      break;
    }
  }
  if (id == g_next_name) {
    g_names[id] = (struct name){strndup(text, bytes), kind, layer, flags, probe};
    ++g_next_name;
  }
  pthread_mutex_unlock(&g_lock);
  return id;
}

static uint64_t* NewChunk(int thread) {
  uint64_t* words = NULL;
  if (posix_memalign((void**)&words, kChunkBytes, kChunkBytes) != 0) abort();
  memset(words, 0, kChunkBytes);
  pthread_mutex_lock(&g_lock);
  if (g_chunk_count == kMaxChunks) abort();
  g_chunks[g_chunk_count].thread = thread;
  g_chunks[g_chunk_count++].words = words;
  pthread_mutex_unlock(&g_lock);
  return words;
}

void crosscut_chunk_end_(crosscut_thread* thread) {
  thread->position = NewChunk(((struct state*)thread)->index);
}

static void Attach(void) {
  if (crosscut_this_thread != &g_off || !g_recording) return;
  struct state* state = calloc(1, sizeof *state);
  pthread_mutex_lock(&g_lock);
  if (g_threads == kMaxThreads) abort();
  state->index = g_threads;
  g_states[g_threads++] = state;
  pthread_mutex_unlock(&g_lock);
  state->thread.position = NewChunk(state->index);
  state->thread.enabled = 1;
  crosscut_this_thread = &state->thread;
}

void crosscut_mark_slow_(uint64_t code, uint32_t name) {
  (void)name;
  Attach();
  if (crosscut_this_thread->enabled == 1) crosscut_mark_(code);
}

/* The base layer of a thread is the reader's business; the tests here read marks. */
void crosscut_base(enum crosscut_layer layer) { (void)layer; }

void crosscut_begin(uint32_t name) { crosscut_mark_(name); }
void crosscut_end(void) { crosscut_mark_(1); }
void crosscut_end_named(uint32_t name) { /* event word, then the name shifted past its code */
  Attach();
  crosscut_mark_(3);
  crosscut_thread* t = crosscut_this_thread;
  if (t->enabled != 1) return;
  *t->position++ = (uint64_t)name << 16 | 0xff;
  if (((uintptr_t)t->position & 0xffff) == 0) crosscut_chunk_end_(t);
}

/* No tasks here. */
uint32_t crosscut_tasks_followed_ = 0;
int crosscut_open_(uint32_t name) {
  (void)name;
  return 0;
}
void crosscut_close_(uint32_t name) { (void)name; }
int crosscut_task_local(int32_t* (*of_this_thread)(void)) {
  (void)of_this_thread;
  return 0;
}

uint64_t crosscut_now(void) { return crosscut_ticks_(); }
double crosscut_ns_per_tick(void) { return 0.5; }

/* A word in every thread's stream; under the GIL. */
void crosscut_frames(int in) {
  for (int i = 0; i < g_threads; ++i) {
    crosscut_thread* t = &g_states[i]->thread;
    *t->position++ = crosscut_ticks_() << 16 | (in ? 0x2a : 0x29);
    if (((uintptr_t)t->position & 0xffff) == 0) crosscut_chunk_end_(t);
  }
}
/* Event word, then the name, as for crosscut_end_named(). */
void crosscut_running(uint32_t name, uint32_t to_come, int begun) {
  Attach();
  crosscut_mark_(begun ? 0x1e : 0x1f);
  crosscut_thread* t = crosscut_this_thread;
  if (t->enabled != 1) return;
  *t->position++ = (uint64_t)to_come << 40 | (uint64_t)name << 16 | 0xff;
  if (((uintptr_t)t->position & 0xffff) == 0) crosscut_chunk_end_(t);
}
static uint32_t g_sessions = 1;
uint32_t crosscut_sessions(void) { return g_sessions; }
static int g_control;
int crosscut_in_control(void) { return g_control; }

int crosscut_source_add(const crosscut_source* source) {
  g_source = *source;
  return 1;
}
void crosscut_source_remove(int handle) { (void)handle; }
void crosscut_source_state(const char* name, const char* version, const char* state,
                           const char* message) {
  char line[512];
  (void)version;
  snprintf(line, sizeof line, "state %s %s %s", name, state, message);
  Log(line);
}
void crosscut_probe_cost(uint32_t probe, int64_t inside, int64_t outside, int64_t low, int64_t high,
                         int64_t samples) {
  char line[256];
  snprintf(line, sizeof line, "cost %s %lld %lld %lld %lld %lld", g_names[probe].text,
           (long long)inside, (long long)outside, (long long)low, (long long)high,
           (long long)samples);
  Log(line);
}

/* ---- For the tests ------------------------------------------------------------------------- */

CROSSCUT_API void stub_record(int on) {
  g_recording = on;
  g_off.enabled = on ? 2 : 0;
  for (int i = 0; i < g_threads; ++i) g_states[i]->thread.enabled = on ? 1 : 0;
}
CROSSCUT_API int stub_thread(void) {
  Attach();
  return ((struct state*)crosscut_this_thread)->index;
}
CROSSCUT_API int stub_set_level(int level) {
  g_level = level;
  return g_source.set_level(g_source.self, (enum crosscut_level)level);
}
/* As in a control step: the level goes down for some steps only. */
CROSSCUT_API int stub_control_step(void) {
  g_control = 1;
  const int error = stub_set_level(0);
  g_control = 0;
  return error;
}
CROSSCUT_API void stub_next_session(void) { ++g_sessions; }
CROSSCUT_API void stub_calibrate(void) { g_source.calibrate(g_source.self); }
CROSSCUT_API const char* stub_log(void) { return g_log; }
CROSSCUT_API const char* stub_name(uint32_t id) {
  return id < g_next_name && id >= 0x100 ? g_names[id].text : "";
}
CROSSCUT_API int stub_name_facts(uint32_t id) {
  return g_names[id].kind | g_names[id].layer << 8 | (int)g_names[id].flags << 16;
}
CROSSCUT_API const char* stub_name_probe(uint32_t id) { return stub_name(g_names[id].probe); }
CROSSCUT_API uint64_t stub_words(void) {
  uint64_t words = 0;
  for (int c = 0; c < g_chunk_count; ++c) {
    for (int i = 0; i < kChunkBytes / 8 && g_chunks[c].words[i] != 0; ++i) ++words;
  }
  return words;
}
/* Copies at most `room` events, thread by thread in order; returns how many there are. */
CROSSCUT_API int stub_events(struct event* out, int room) {
  int count = 0;
  for (int t = 0; t < g_threads; ++t) {
    for (int c = 0; c < g_chunk_count; ++c) {
      if (g_chunks[c].thread != t) continue;
      for (int i = 0; i < kChunkBytes / 8 && g_chunks[c].words[i] != 0; ++i) {
        const uint64_t word = g_chunks[c].words[i];
        const int code = word & 0xffff;
        if (code == 0xff) { /* the name of the end before it */
          if (count <= room) {
            out[count - 1].name = word >> 16 & 0xffffff;
            out[count - 1].reserved = word >> 40;
          }
          continue;
        }
        if (count < room)
          out[count] = (struct event){t, code, code >= 0x100 ? code : 0, 0, word >> 16};
        ++count;
      }
    }
  }
  return count;
}
