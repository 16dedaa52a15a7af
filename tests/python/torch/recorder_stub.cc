// A recorder that keeps every word in memory, for tests of the operator shim.
#include <crosscut/crosscut.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

namespace {

constexpr size_t kChunkBytes = 64 << 10;
constexpr uint32_t kFirstName = 256;

struct Thread {
  crosscut_thread words;
  std::vector<uint64_t*> chunks;
};

crosscut_thread unattached{0, 0, nullptr};
std::mutex mutex;
std::vector<Thread*> threads;
std::vector<std::string> names;
crosscut_source source;
constexpr int kCosts = 2;  // of operators, of user scopes
int64_t costs[5 * kCosts];
int told_costs = 0;

uint64_t* NewChunk() {
  void* chunk = aligned_alloc(kChunkBytes, kChunkBytes);
  return static_cast<uint64_t*>(memset(chunk, 0, kChunkBytes));
}

Thread* ThisThread() {
  if (crosscut_this_thread == &unattached) {
    auto* thread = new Thread;
    thread->chunks.push_back(NewChunk());
    thread->words = {1, 0, thread->chunks[0]};
    std::lock_guard<std::mutex> lock(mutex);
    threads.push_back(thread);
    crosscut_this_thread = &thread->words;
  }
  return reinterpret_cast<Thread*>(crosscut_this_thread);
}

void Put(uint64_t code, std::initializer_list<uint64_t> payload) {
  if (crosscut_this_thread->enabled == 0) return;
  crosscut_thread* thread = &ThisThread()->words;
  const uintptr_t used = reinterpret_cast<uintptr_t>(thread->position) % kChunkBytes;
  if (used + 8 * (payload.size() + 1) > kChunkBytes) crosscut_chunk_end_(thread);
  uint64_t* at = thread->position;
  *at++ = crosscut_ticks_() << 16 | code;
  for (uint64_t word : payload) *at++ = word;
  thread->position = at;
  if (reinterpret_cast<uintptr_t>(at) % kChunkBytes == 0) crosscut_chunk_end_(thread);
}

}  // namespace

__thread crosscut_thread* crosscut_this_thread = &unattached;

extern "C" {
uint32_t crosscut_tasks_followed_ = 0;
int crosscut_open_(uint32_t) { return 0; }
void crosscut_close_(uint32_t) {}
void crosscut_task_forget(uint32_t) {}
void crosscut_source_state(const char*, const char*, const char*, const char*) {}
void crosscut_base(crosscut_layer) {}
void crosscut_span_at(uint32_t, uint64_t, uint64_t) {}
void crosscut_allocated(const void*, uint64_t) {}
void crosscut_freed(const void*) {}
void crosscut_freed_at(const void*, uint64_t) {}
void crosscut_memory_changed(const crosscut_memory*) {}
void crosscut_out_of_memory(const crosscut_memory*) {}

void crosscut_chunk_end_(crosscut_thread* words) {
  auto* thread = reinterpret_cast<Thread*>(words);
  std::lock_guard<std::mutex> lock(mutex);
  thread->chunks.push_back(NewChunk());
  words->position = thread->chunks.back();
}

uint32_t crosscut_intern(const char* text, size_t bytes, crosscut_kind kind, crosscut_layer layer,
                         unsigned flags, uint32_t) {
  std::string name =
      std::to_string(kind) + "|" + std::to_string(layer) + "|" + std::to_string(flags) + "|";
  name += bytes == SIZE_MAX ? std::string(text) : std::string(text, bytes);
  std::lock_guard<std::mutex> lock(mutex);
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<uint32_t>(kFirstName + i);
  }
  names.push_back(name);
  return static_cast<uint32_t>(kFirstName + names.size() - 1);
}

void crosscut_mark_slow_(uint64_t code, uint32_t) { Put(code, {}); }
void crosscut_begin(uint32_t name) { Put(name, {}); }
void crosscut_end(void) { Put(1, {}); }
void crosscut_end_named(uint32_t name) { Put(3, {name}); }
void crosscut_instant(uint32_t name) { Put(4, {name}); }
void crosscut_arg(uint32_t key, int64_t value) { Put(6, {key, static_cast<uint64_t>(value)}); }
void crosscut_async_end(uint32_t name, int64_t number) {
  crosscut_instant(name);
  crosscut_arg(crosscut_intern("async end", SIZE_MAX, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0),
               number);
}
void crosscut_arg_name(uint32_t key, uint32_t value) { Put(7, {key, value}); }
void crosscut_flow_out(uint64_t flow) { Put(8, {flow}); }
void crosscut_flow_in(uint64_t flow) { Put(9, {flow}); }
uint32_t crosscut_sessions(void) { return 1; }
uint64_t crosscut_now(void) { return crosscut_ticks_(); }
double crosscut_ns_per_tick(void) { return 1.0; }
const char* crosscut_error(void) { return ""; }

int crosscut_source_add(const crosscut_source* added) {
  source = *added;
  return 1;
}
void crosscut_source_remove(int) { source.set_level(source.self, CROSSCUT_LEVEL_CONTROL); }
void crosscut_probe_cost(uint32_t, int64_t inside, int64_t outside, int64_t low, int64_t high,
                         int64_t samples) {
  const int64_t values[] = {inside, outside, low, high, samples};
  memcpy(costs + 5 * (told_costs++ % kCosts), values, sizeof values);
}

CROSSCUT_API void stub_level(int level) {
  source.set_level(source.self, static_cast<crosscut_level>(level));
}
CROSSCUT_API void stub_enable(int on) {
  std::lock_guard<std::mutex> lock(mutex);
  __atomic_store_n(&unattached.enabled, on ? 2u : 0u, __ATOMIC_RELAXED);
  for (Thread* thread : threads) {
    __atomic_store_n(&thread->words.enabled, on ? 1u : 0u, __ATOMIC_RELAXED);
  }
}
CROSSCUT_API const int64_t* stub_calibrate(void) {
  crosscut_thread* mine = crosscut_this_thread;
  crosscut_thread off{0, 0, nullptr};
  crosscut_this_thread = &off;
  source.calibrate(source.self);
  crosscut_this_thread = mine;
  return costs;
}
// No thread may be recording.
CROSSCUT_API void stub_reset(void) {
  for (Thread* thread : threads) {
    for (size_t i = 1; i < thread->chunks.size(); ++i) free(thread->chunks[i]);
    thread->chunks.resize(1);
    memset(thread->chunks[0], 0, kChunkBytes);
    thread->words.position = thread->chunks[0];
  }
}
CROSSCUT_API int stub_threads(void) { return static_cast<int>(threads.size()); }
CROSSCUT_API int stub_chunks(int thread) {
  return static_cast<int>(threads[thread]->chunks.size());
}
CROSSCUT_API const uint64_t* stub_chunk(int thread, int i) { return threads[thread]->chunks[i]; }
CROSSCUT_API const char* stub_name(uint32_t id) {
  return id >= kFirstName && id - kFirstName < names.size() ? names[id - kFirstName].c_str() : "";
}

}  // extern "C"
