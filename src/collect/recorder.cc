#include "src/collect/recorder.h"

#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/base/fault_point.h"
#include "src/collect/clock.h"
#include "src/collect/hidden_spans.h"
#include "src/collect/losses.h"
#include "src/collect/scratch.h"
#include "src/collect/slow_path.h"
#include "src/collect/words.h"

namespace crosscut::record {
namespace {

using format::kRingChunkBytes;
using format::kRingChunkHeaderWords;

constexpr int kLastEndRound = PTHREAD_DESTRUCTOR_ITERATIONS - 1;

__thread uint8_t base_layer __attribute__((tls_model("initial-exec"))) = 0;
__thread bool this_thread_is_ours __attribute__((tls_model("initial-exec"))) = false;

constinit Recorder the_recorder;

uint64_t EventWord(uint64_t tick, uint64_t code) { return tick << format::kCodeBits | code; }

size_t WordsLeft(const uint64_t* position) {
  return (kRingChunkBytes - (reinterpret_cast<uintptr_t>(position) & (kRingChunkBytes - 1))) / 8;
}

uint64_t* Put(uint64_t* at, uint64_t tick, uint64_t code, const uint64_t* payload, uint32_t n) {
  if (CROSSCUT_FAULT("recorder.publish")) {
    StoreWords(at + 1, payload, n);
    return at;
  }
  StoreEvent(at, EventWord(tick, code), payload, n);
  return at + 1 + n;
}

bool EndsSpan(uint64_t code) { return code == format::kEnd || code == format::kEndNamed; }
}  // namespace

Recorder& Recorder::Get() { return the_recorder; }

void Recorder::Init() {
  WipeSharedStatesOnFork();
  has_key_ = pthread_key_create(&key_, &Recorder::ThreadEnds) == 0;
  stream_.Init();
}

void Recorder::SetShared(uint32_t enabled) {
  SetEnabled(OffState(), enabled);
  SetEnabled(EndedState(), enabled);
}

void Recorder::ForgetThisThread() {
  SlowPath::Forget();
  crosscut_this_thread = OffState();
  if (has_key_) (void)pthread_setspecific(key_, nullptr);
}

// ---- Marking ------------------------------------------------------------------------------------

void Recorder::Mark(uint64_t code, const uint64_t* payload, uint32_t n, uint64_t at) {
  const auto now = [at] { return at != 0 ? at : ClockNow(); };
  if (Interrupts()) {
    CountShared(format::kDropMemory);
    return;
  }
  const SlowPath guard;
  if (InScratch()) {
    auto* scratch = static_cast<ThreadState*>(crosscut_this_thread);
    ResetScratch(scratch);
    scratch->position = Put(scratch->position, now(), code, payload, n);
    return;
  }
  uint64_t phase;
  ThreadState* s = Prepared(&phase);
  if (s == nullptr) return;
  if (Hides(PhaseOf(phase))) {
    if (s->hidden_depth > 0 && OnTick(s) != 0) ShowHidden(s, now(), 0);  // it was on meanwhile
    if (Hide(s, stream_, code, payload)) return;
  } else if (s->hidden_depth > 0) {
    ShowHidden(s, now(), n + 1);  // whatever phase it is by now: an end must meet its begin
  }
  const uint64_t tick = now();
  if (!Emit(s, tick, code, payload, n)) Lose(s, tick, code, payload);
  Arm(s, phase);
}

uint64_t Recorder::MarkAlways(uint64_t tick, uint64_t code, const uint64_t* payload, uint32_t n) {
  if (Interrupts()) {
    // What a new session marks of itself, inside a thread's first mark, is no loss.
    if (crosscut_this_thread != OffState()) CountShared(format::kDropMemory);
    return 0;
  }
  const SlowPath guard;
  if (tick == 0) tick = ClockNow();
  if (InScratch()) {
    auto* scratch = static_cast<ThreadState*>(crosscut_this_thread);
    if (WordsLeft(scratch->position) <= n + 1) ResetScratch(scratch);
    scratch->position = Put(scratch->position, tick, code, payload, n);
    return tick;
  }
  uint64_t phase;
  ThreadState* s = Prepared(&phase);
  if (s == nullptr) return 0;
  if (s->hidden_depth > 0) ShowHidden(s, tick, n + 1);
  if (!Emit(s, tick, code, payload, n)) Lose(s, tick, code, payload);
  Arm(s, phase);
  return tick;
}

bool Recorder::Push(uint64_t code, const uint64_t* payload, uint32_t n) {
  if (Interrupts()) {
    CountShared(format::kDropMemory);
    return false;
  }
  const SlowPath guard;
  if (InScratch()) {
    auto* scratch = static_cast<ThreadState*>(crosscut_this_thread);
    if (WordsLeft(scratch->position) <= n + 1) ResetScratch(scratch);
    scratch->position = Put(scratch->position, ClockNow(), code, payload, n);
    return true;
  }
  uint64_t phase;
  ThreadState* s = Prepared(&phase, /*while_closing=*/true);
  if (s == nullptr) return false;
  const uint64_t tick = ClockNow();
  if (!Emit(s, tick, code, payload, n)) CountDrop(s, tick);
  Arm(s, phase);
  return true;
}

void Recorder::MarkOurs() { this_thread_is_ours = true; }

uint32_t Recorder::TrackOfThisThread() {
  if (Interrupts()) return 0;
  const SlowPath guard;
  uint64_t phase;
  ThreadState* s = Prepared(&phase);
  return s == nullptr ? 0 : s->track;
}

ThreadState* Recorder::Prepared(uint64_t* phase, bool while_closing) {
  const auto off = [while_closing](uint64_t word) {
    const Phase is = PhaseOf(word);
    return is == Phase::kOff || (is == Phase::kClosing && !while_closing);
  };
  crosscut_thread* thread = crosscut_this_thread;
  *phase = phase_.Load();
  if (ThisThreadIsSuspended()) return nullptr;
  if (off(*phase)) {
    auto* hook = thread == OffState() ? first_event_.exchange(nullptr) : nullptr;
    if (hook != nullptr) hook();
    *phase = phase_.Load();
  }
  if (off(*phase)) {
    if (thread == OffState() || thread == EndedState()) return nullptr;
    phase_.Disarm(thread, *phase);
    return nullptr;
  }
  if (thread == EndedState()) {
    CountShared(format::kDropMemory);
    return nullptr;
  }
  auto* s = thread == OffState() ? Attach() : static_cast<ThreadState*>(thread);
  if (s == nullptr) {
    CountShared(format::kDropMemory);
    return nullptr;
  }
  if (s->session != session()) EnterSession(s);
  return s;
}

ThreadState* Recorder::Attach() {
  if (!has_key_) return nullptr;
  ThreadState* s = nullptr;
  {
    const Lock lock(&threads_mutex_);
    s = states_.Take(threads_cap_);
  }
  if (s == nullptr) return nullptr;
  s->track = NewTrack();
  s->os_id = static_cast<int32_t>(syscall(SYS_gettid));
  s->flags = (s->os_id == getpid() ? format::kThreadIsMain : 0) |
             (this_thread_is_ours ? format::kThreadIsOurs : 0);
  s->base = base_layer;
  SetBusy(s, 1);
  SetEnabled(s, 2);
  if (pthread_setspecific(key_, s) != 0) {
    const Lock lock(&threads_mutex_);
    states_.Give(s);
    return nullptr;
  }
  crosscut_this_thread = s;
  return s;
}

void Recorder::EnterSession(ThreadState* s) {
  const uint32_t number = ring_number_.load();
  s->slot_stays = s->ring == number && (s->slot_stays || s->drops != 0);
  if (s->ring != number || s->chunk == nullptr) {
    std::atomic_ref(s->chunk).store(nullptr, std::memory_order_release);
    std::atomic_ref(s->ring).store(number, std::memory_order_release);
    s->position = nullptr;
    s->slot = nullptr;
  } else if (IsStale(s->chunk, ClockNow())) {
    this->ring()->PushFull(s->chunk);
    std::atomic_ref(s->chunk).store(nullptr, std::memory_order_release);
    s->position = nullptr;
  }
  s->session = session();
  s->announce = true;
  s->announced = false;
  s->stack_lost = false;
  s->hidden_depth = 0;
  s->hidden_lost = 0;
  s->owed_count = 0;
  s->drops = 0;
}

void Recorder::Arm(ThreadState* s, uint64_t phase) {
  if (PhaseOf(phase) != Phase::kOn || s->chunk == nullptr || s->announce || s->drops != 0 ||
      !ClockIsInline())
    return;
  phase_.Arm(s, phase);
}

void Recorder::ChunkEnd(ThreadState* s) {
  const SlowPath guard;
  if (s->scratch) {
    ResetScratch(s);
    return;
  }
  ring()->PushFull(s->chunk);
  std::atomic_ref(s->chunk).store(nullptr, std::memory_order_release);
  s->announce = true;
  const uint64_t tick = ClockNow();
  if (Room(s, tick, PrologueWords(s))) {
    WritePrologue(s, tick);
  } else {
    SetEnabled(s, 2);
  }
}

bool Recorder::Emit(ThreadState* s, uint64_t tick, uint64_t code, const uint64_t* payload,
                    uint32_t n) {
  if (!Room(s, tick, n + 1 + PrologueWords(s))) return false;
  WritePrologue(s, tick);
  if (s->hidden_depth > 0 && phase() == Phase::kOn) WriteHidden(s, tick);
  s->position = Put(s->position, tick, code, payload, n);
  return true;
}

// Makes sure that more than `words` words are left in the thread's chunk, so that a position never
// comes to stand at a chunk's end.
bool Recorder::Room(ThreadState* s, uint64_t tick, size_t words) {
  if (s->chunk != nullptr && WordsLeft(s->position) > words) return true;
  if (uint64_t* fresh = ring()->Claim(s->track, tick, false)) {
    Adopt(s, fresh, fresh + kRingChunkHeaderWords);
    return true;
  }
  return AdoptParked(s, tick, words);
}

void Recorder::Adopt(ThreadState* s, uint64_t* chunk, uint64_t* position) {
  if (s->chunk != nullptr) ring()->PushFull(s->chunk);
  std::atomic_ref(s->chunk).store(chunk, std::memory_order_release);
  s->position = position;
  ++s->chunks;
  s->announce = true;
}

// All under the lock: at no time is it nobody's for ForEachOpenChunk().
bool Recorder::AdoptParked(ThreadState* s, uint64_t tick, size_t words) {
  if (parked_count_.load(std::memory_order_relaxed) == 0) return false;
  const Lock lock(&threads_mutex_);
  for (uint32_t i = 0; i < parked_count_;) {
    uint64_t* position = parked_[i];
    const bool stale = IsStale(ChunkOf(position), tick);
    if (!stale && WordsLeft(position) <= words + 8) {
      ++i;
      continue;
    }
    parked_[i] = parked_[--parked_count_];
    if (stale) {
      ring()->PushFull(ChunkOf(position));
      continue;
    }
    // Two tracks in one chunk: the drain keeps its place in the order.
    ChunkOf(position)[format::kChunkReserved] = 1;
    Adopt(s, ChunkOf(position), position);
    return true;
  }
  return false;
}

size_t Recorder::PrologueWords(const ThreadState* s) const {
  size_t words = (s->announce ? 5 : 0) + (s->drops != 0 ? 5 : 0) + 8 + 2 * s->hidden_depth;
  for (uint32_t i = 0; i < s->owed_count; ++i) {
    words += s->owed[i].name != 0 ? 2 : s->owed[i].count;
  }
  return words;
}

void Recorder::WritePrologue(ThreadState* s, uint64_t tick) {
  if (s->announce) {
    const bool continues = s->announced && !s->stack_lost;
    const uint64_t payload[4] = {s->track, static_cast<uint64_t>(s->os_id),
                                 s->base | s->flags | (continues ? format::kThreadContinues : 0),
                                 tick};
    s->position = Put(s->position, tick, format::kThread, payload, 4);
    s->announce = false;
    s->announced = true;
    s->stack_lost = false;
  }
  if (s->owed_count != 0) WriteOwed(s, s->drops != 0 ? s->drop_last : tick);
  if (s->drops == 0) return;
  // Begins that are repaired below are no losses any more.
  if (phase() == Phase::kOn) WriteHidden(s, s->drop_last);
  if (s->drops == 0) return;
  const uint64_t payload[4] = {format::kDropFull, s->drops, s->drop_first, s->drop_last};
  s->position = Put(s->position, tick, format::kDrop, payload, 4);
  s->drops = 0;
}

void Recorder::WriteOwed(ThreadState* s, uint64_t tick) {
  for (uint32_t i = 0; i < s->owed_count; ++i) {
    const uint64_t name = s->owed[i].name;
    for (uint32_t k = 0; k < s->owed[i].count; ++k) {
      s->position = name != 0 ? Put(s->position, tick, format::kEndNamed, &name, 1)
                              : Put(s->position, tick, format::kEnd, nullptr, 0);
      Uncount(s);
    }
  }
  s->owed_count = 0;
}

// With room for so many words more; not at all where there is none.
void Recorder::ShowHidden(ThreadState* s, uint64_t now, uint32_t more) {
  if (!Room(s, now, more + PrologueWords(s))) return;
  WritePrologue(s, now);
  WriteHidden(s, now);
}

// Begins what was begun unseen. The caller has made room for 2 * kHiddenNames words.
void Recorder::WriteHidden(ThreadState* s, uint64_t now) {
  uint64_t tick = OnTick(s);
  if (tick == 0 && phase() == Phase::kOn) tick = switch_tick_.load(std::memory_order_relaxed);
  if (tick == 0 || tick > now || s->hidden_lost != 0) tick = now;
  for (uint32_t i = 0; i < s->hidden_depth; ++i) {
    const uint64_t name = i < kHiddenNames ? s->hidden[i] : stream_.unnamed();
    s->position = name <= format::kLastNameCode
                      ? Put(s->position, tick, name, nullptr, 0)
                      : Put(s->position, tick, format::kBeginWide, &name, 1);
    if (i < kHiddenNames && (s->hidden_lost >> i & 1) != 0) Uncount(s);
  }
  s->hidden_depth = 0;
  s->hidden_lost = 0;
}

// The ring is full: counts the event, and remembers what the stack needs.
void Recorder::Lose(ThreadState* s, uint64_t tick, uint64_t code, const uint64_t* payload) {
  CountDrop(s, tick);
  const uint32_t depth = s->hidden_depth;
  if (Hide(s, stream_, code, payload)) {
    if (BeginsSpan(code) && depth < kHiddenNames) s->hidden_lost |= uint64_t{1} << depth;
    return;
  }
  if (!EndsSpan(code)) return;
  const auto name = static_cast<uint32_t>(code == format::kEndNamed ? payload[0] : 0);
  OwedEnd* last = s->owed_count == 0 ? nullptr : &s->owed[s->owed_count - 1];
  if (last != nullptr && name == 0 && last->name == 0 && last->count < 1000) {
    ++last->count;
  } else if (s->owed_count < kOwedEnds) {
    s->owed[s->owed_count++] = {name, 1};
  } else {
    s->stack_lost = true;
    s->announce = true;
    s->owed_count = 0;
  }
}

void Recorder::SetBase(uint8_t layer) {
  base_layer = layer;
  crosscut_thread* thread = crosscut_this_thread;
  if (thread == OffState() || thread == EndedState() || InScratch()) return;
  if (ThisThreadIsSuspended()) return;
  static_cast<ThreadState*>(thread)->base = layer;
  const uint64_t payload = layer;
  if (crosscut_recording()) Mark(format::kBase, &payload, 1);
}

// ---- Losses -------------------------------------------------------------------------------------

// The slot is counted by this thread alone, so by load and store; Detach() and readers of the ring
// are the partners (format::RingDropSlot).
void Recorder::CountDrop(ThreadState* s, uint64_t tick) {
  SetEnabled(s, 2);
  if (s->drops++ == 0) s->drop_first = tick;
  s->drop_last = tick;
  if (s->slot == nullptr) {
    s->slot = ring()->DropSlotFor(s->track, format::kDropFull, tick);
    if (format::RingLoad(s->slot->track) != uint64_t{s->track} + 1) s->slot = nullptr;
  }
  if (s->slot == nullptr) {
    s->drops = 0;  // told by the shared slot alone
    CountShared(format::kDropFull);
    return;
  }
  format::RingStore(s->slot->last_tick, tick);
  format::RingStore(s->slot->count, s->slot->count + 1);
}

void Recorder::Uncount(ThreadState* s) {
  if (s->drops == 0 || s->slot == nullptr) return;
  --s->drops;
  format::RingStore(s->slot->count, s->slot->count - 1);
}

// Any thread counts here, so by fetch_add.
bool CountShared(uint8_t reason, int64_t more) {
  ChunkRing* ring = the_recorder.ring();
  if (ring == nullptr || the_recorder.phase() == Phase::kOff) return false;
  const uint64_t tick = ClockNow();
  format::RingDropSlot* slot = ring->DropSlotFor(format::kRingSharedDropTrack,
                                                 static_cast<format::DropReason>(reason), tick);
  format::RingStore(slot->last_tick, tick);
  std::atomic_ref(slot->count).fetch_add(static_cast<uint64_t>(more));
  return true;
}

// ---- The end of threads -------------------------------------------------------------------------

// Runs in every round of key destructors but does its work in the last, so that other keys'
// destructors can still record.
void Recorder::ThreadEnds(void* state) {
  auto* s = static_cast<ThreadState*>(state);
  Recorder& recorder = the_recorder;
  if (!s->in_use) return;  // wiped: a child's thread never attached
  if (++s->end_rounds < kLastEndRound && pthread_setspecific(recorder.key_, s) == 0) {
    return;
  }
  const SlowPath guard;
  crosscut_this_thread = EndedState();
  recorder.Detach(s);
}

void Recorder::Detach(ThreadState* s) {
  const bool here = s->ring == ring_number_.load() && ring() != nullptr;
  const bool open = here && s->session == session() && s->chunk != nullptr && s->announced;
  if (open && WordsLeft(s->position) > PrologueWords(s) + 1) {
    const uint64_t tick = ClockNow();
    WritePrologue(s, tick);
    s->position = Put(s->position, tick, format::kThreadEnd, nullptr, 0);
  }
  // Otherwise the slot tells what the stream cannot. In this order: who takes it by its track finds
  // its count 0.
  if (here && s->slot != nullptr && s->drops == 0 && !s->slot_stays) {
    format::RingStore<uint64_t>(s->slot->count, 0);
    format::RingStore<uint64_t>(s->slot->reason, 0);  // none, until who takes it stores its own
    format::RingStore<uint64_t>(s->slot->track, 0);
  }
  const Lock lock(&threads_mutex_);
  if (here && s->chunk != nullptr && s->ring == ring_number_.load()) {
    const bool keep = WordsLeft(s->position) > 512 && parked_count_ < parked_room_;
    if (keep) {
      parked_[parked_count_++] = s->position;
    } else {
      ring()->PushFull(s->chunk);
    }
  }
  std::atomic_ref(s->chunk).store(nullptr, std::memory_order_release);
  states_.Give(s);
}

}  // namespace crosscut::record

// ---- The symbols that crosscut.h reads and calls ------------------------------------------------

extern "C" {

void crosscut_chunk_end_(crosscut_thread* thread) {
  crosscut::record::the_recorder.ChunkEnd(static_cast<crosscut::record::ThreadState*>(thread));
}

}  // extern "C"
