// The marking functions of crosscut.h. The common case of each is a few instructions; everything
// else goes to the recorder.
#include "crosscut/crosscut.h"
#include "src/collect/clock.h"
#include "src/collect/recorder.h"

namespace crosscut::record {
namespace {

// An event with n payload words. `tick`: 0 is now.
inline void EventAt(uint64_t tick, uint64_t code, const uint64_t* payload, uint32_t n) {
  crosscut_thread* thread = crosscut_this_thread;
  const uint32_t enabled = __atomic_load_n(&thread->enabled, __ATOMIC_RELAXED);
  if (enabled == 0) return;
  if (crosscut_inline_(thread, enabled) && crosscut_write_(tick, code, payload, n, 0)) return;
  Recorder::Get().Mark(code, payload, n, tick);
}

inline void Event(uint64_t code, const uint64_t* payload, uint32_t n) {
  EventAt(0, code, payload, n);
}

uint32_t OrUnnamed(uint32_t name) {
  return name >= Names::kFirstId ? name : Recorder::Get().stream().unnamed();
}

// An instant of `name`, whatever the phase, with `pairs` arguments of it at `arguments`. False
// where this thread does not record.
bool Events(uint32_t name, const uint64_t* arguments, uint32_t pairs) {
  crosscut_thread* thread = crosscut_this_thread;
  const uint32_t enabled = __atomic_load_n(&thread->enabled, __ATOMIC_RELAXED);
  if (enabled == 0) return false;
  uint64_t words[7] = {name};
  unsigned heads = 0;
  for (uint32_t i = 0; i < pairs; ++i) {
    heads |= 2u << 3 * i;
    words[1 + 3 * i] = format::kArg;
    words[2 + 3 * i] = arguments[2 * i];
    words[3 + 3 * i] = arguments[2 * i + 1];
  }
  if (crosscut_inline_(thread, enabled) &&
      crosscut_write_(0, format::kInstant, words, 1 + 3 * pairs, heads)) {
    return true;
  }
  Recorder& recorder = Recorder::Get();
  const uint64_t tick = recorder.MarkAlways(0, format::kInstant, words, 1);
  for (uint32_t i = 0; tick != 0 && i < pairs; ++i) {
    (void)recorder.MarkAlways(tick, format::kArg, arguments + 2 * i, 2);
  }
  return tick != 0;
}

uint32_t Key(const char* text) {
  return Recorder::Get().stream().Intern(
      text, format::NameAttributes{format::kKindText, format::kLayerNone, 0, 0}.Pack());
}

__attribute__((noinline)) void BeginRare(uint32_t name) {
  name = OrUnnamed(name);
  if (name <= format::kLastNameCode) {
    crosscut_mark_(name);
  } else {
    const uint64_t payload = name;
    Event(format::kBeginWide, &payload, 1);
  }
}

}  // namespace
}  // namespace crosscut::record

using crosscut::record::Event;
using crosscut::record::EventAt;
using crosscut::record::Events;
namespace format = crosscut::format;

extern "C" {

void crosscut_mark_slow_(uint64_t code, uint32_t) {
  crosscut::record::Recorder::Get().Mark(code, nullptr, 0);
}

// What is switched off must cost next to nothing: on one line of the cache, and with no jump on its
// way. One more does not show beside the clock's read.
__attribute__((aligned(64))) void crosscut_begin(uint32_t name) {
  if (__builtin_expect(!crosscut_recording(), 1)) return;
  if (__builtin_expect(name - 0x100u <= 0xfeffu, 1)) {
    crosscut_mark_(name);
  } else {
    crosscut::record::BeginRare(name);
  }
}

__attribute__((aligned(64))) void crosscut_end(void) {
  if (__builtin_expect(!crosscut_recording(), 1)) return;
  crosscut_mark_(format::kEnd);
}

void crosscut_end_named(uint32_t name) {
  const uint64_t payload = crosscut::record::OrUnnamed(name);
  Event(format::kEndNamed, &payload, 1);
}

void crosscut_end_named_at(uint32_t name, uint64_t tick) {
  const uint64_t payload = crosscut::record::OrUnnamed(name);
  EventAt(tick, format::kEndNamed, &payload, 1);
}

void crosscut_begin_at(uint32_t name, uint64_t tick) {
  const uint64_t payload = crosscut::record::OrUnnamed(name);
  if (payload <= format::kLastNameCode) {
    EventAt(tick, payload, nullptr, 0);
  } else {
    EventAt(tick, format::kBeginWide, &payload, 1);
  }
}

void crosscut_go_on_at(uint32_t name, uint64_t tick, uint64_t ended, uint32_t inside) {
  crosscut_begin_at(name, tick);
  const uint64_t payload[2] = {ended, inside};
  EventAt(tick, format::kGoesOnWith, payload, 2);
}

void crosscut_instant(uint32_t name) {
  const uint64_t payload = crosscut::record::OrUnnamed(name);
  Event(format::kInstant, &payload, 1);
}

void crosscut_async_end(uint32_t name, int64_t number) {
  auto& recorder = crosscut::record::Recorder::Get();
  static const uint32_t key = recorder.stream().Intern(
      "async end", format::NameAttributes{format::kKindText, format::kLayerNone, 0, 0}.Pack());
  const uint64_t instant = crosscut::record::OrUnnamed(name);
  const uint64_t argument[2] = {key, static_cast<uint64_t>(number)};
  const uint64_t tick = recorder.MarkAlways(0, format::kInstant, &instant, 1);
  if (tick != 0) (void)recorder.MarkAlways(tick, format::kArg, argument, 2);
}

int64_t crosscut_request_begin(uint32_t name) {
  constexpr int64_t kOurs = int64_t{1} << 62;  // others take numbers of their own
  static int64_t last = kOurs;                 // each number once, by the addition alone: relaxed
  static const uint32_t key = crosscut::record::Key("async");
  const auto& recorder = crosscut::record::Recorder::Get();
  if (recorder.phase() == crosscut::record::Phase::kPaused) return 0;
  const int64_t number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
  const uint64_t argument[2] = {key, static_cast<uint64_t>(number)};
  return Events(crosscut::record::OrUnnamed(name), argument, 1) ? number : 0;
}

void crosscut_request_end(uint32_t name, int64_t number, int64_t running_ns) {
  static const uint32_t end = crosscut::record::Key("async end");
  static const uint32_t running = crosscut::record::Key("running_ns");
  if (number == 0) return;
  const uint64_t arguments[4] = {end, static_cast<uint64_t>(number), running,
                                 static_cast<uint64_t>(running_ns)};
  (void)Events(crosscut::record::OrUnnamed(name), arguments, running_ns < 0 ? 1 : 2);
}

void crosscut_counter(uint32_t name, int64_t value) {
  const uint64_t payload[2] = {crosscut::record::OrUnnamed(name), static_cast<uint64_t>(value)};
  Event(format::kCounter, payload, 2);
}

void crosscut_value_lost(void) {
  const uint64_t now = crosscut::record::ClockNow();
  const uint64_t payload[4] = {format::kDropValue, 1, now, now};
  Event(format::kDrop, payload, 4);
}

void crosscut_arg(uint32_t key, int64_t value) {
  const uint64_t payload[2] = {crosscut::record::OrUnnamed(key), static_cast<uint64_t>(value)};
  Event(format::kArg, payload, 2);
}

void crosscut_arg_name(uint32_t key, uint32_t value_name) {
  const uint64_t payload[2] = {crosscut::record::OrUnnamed(key),
                               crosscut::record::OrUnnamed(value_name)};
  Event(format::kArgName, payload, 2);
}

uint64_t crosscut_flow_id(void) {
  static uint64_t last = 0;  // each number once, by the addition alone: relaxed
  return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

void crosscut_flow_out(uint64_t flow) { Event(format::kFlowOut, &flow, 1); }
void crosscut_flow_in(uint64_t flow) { Event(format::kFlowIn, &flow, 1); }

void crosscut_span_at(uint32_t name, uint64_t begin_tick, uint64_t end_tick) {
  const uint64_t payload[3] = {crosscut::record::OrUnnamed(name), begin_tick, end_tick};
  Event(format::kSpanAt, payload, 3);
}

void crosscut_allocated(const void* address, uint64_t bytes) {
  const uint64_t payload[2] = {reinterpret_cast<uintptr_t>(address), bytes};
  Event(format::kAllocated, payload, 2);
}

void crosscut_freed(const void* address) {
  const uint64_t payload = reinterpret_cast<uintptr_t>(address);
  Event(format::kFreed, &payload, 1);
}

void crosscut_freed_at(const void* address, uint64_t tick) {
  const uint64_t payload[2] = {reinterpret_cast<uintptr_t>(address), tick};
  Event(format::kFreedAt, payload, 2);
}

void crosscut_memory_changed(const crosscut_memory* change) {
  const uint64_t payload[5] = {format::MemoryDevice(change->device_type, change->device_index),
                               change->address, static_cast<uint64_t>(change->bytes),
                               static_cast<uint64_t>(change->total_allocated),
                               static_cast<uint64_t>(change->total_reserved)};
  Event(format::kMemory, payload, 5);
}

void crosscut_out_of_memory(const crosscut_memory* asked) {
  const uint64_t payload[4] = {format::MemoryDevice(asked->device_type, asked->device_index),
                               static_cast<uint64_t>(asked->bytes),
                               static_cast<uint64_t>(asked->total_allocated),
                               static_cast<uint64_t>(asked->total_reserved)};
  Event(format::kNoMemory, payload, 4);
}

void crosscut_running(uint32_t name, uint32_t to_come, int begun) {
  const uint64_t payload = crosscut::record::OrUnnamed(name) |
                           uint64_t{to_come & 0x7fffffff} << 32 |
                           (begun != 0 ? format::kRunningBegun : 0);
  Event(format::kRunning, &payload, 1);
}

void crosscut_base(enum crosscut_layer layer) {
  crosscut::record::Recorder::Get().SetBase(static_cast<uint8_t>(layer));
}

uint64_t crosscut_now(void) { return crosscut::record::ClockNow(); }
double crosscut_ns_per_tick(void) { return crosscut::record::ClockNsPerTick(); }

}  // extern "C"
