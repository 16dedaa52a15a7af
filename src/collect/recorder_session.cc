// The recorder's session side: phases, the session stream, names, forks.
#include <string.h>
#include <time.h>

#include "src/base/fault_point.h"
#include "src/collect/clock.h"
#include "src/collect/lock.h"
#include "src/collect/memory.h"
#include "src/collect/recorder.h"
#include "src/collect/slow_path.h"
#include "src/collect/words.h"

namespace crosscut::record {
namespace {

using format::kRingChunkBytes;
using format::kRingChunkHeaderWords;

constexpr uint32_t kMostWordsInRing = 6 << 10;  // of one session event
constexpr int kStreamWaits = 200;               // of 1 ms, for a clean chunk or the drain

void Nap() {
  const timespec ms = {0, 1'000'000};
  nanosleep(&ms, nullptr);
}

uint64_t TextWords(size_t bytes) { return (bytes + 7) / 8; }

}  // namespace

// ---- Phases -------------------------------------------------------------------------------------

bool Recorder::BeginSession(ChunkRing* ring, size_t memory_cap) {
  const SlowPath guard;  // a signal handler's first mark on this thread takes the lock, too
  const Lock threads(&threads_mutex_);
  const Lock stream(&stream_mutex_);
  names_cap_ = memory_cap / 16 * 2;
  threads_cap_ = memory_cap / 16;
  if (ring != ring_.load()) {
    const size_t bytes = size_t{ring->chunk_count()} * sizeof(uint64_t*);
    auto** parked = static_cast<uint64_t**>(MapPages(bytes));
    if (parked == nullptr) return false;
    UnmapPages(parked_, parked_room_ * sizeof(uint64_t*));
    parked_ = parked;
    parked_room_ = ring->chunk_count();
    parked_count_ = 0;
    stream_chunk_.store(nullptr);
    stream_position_ = nullptr;
    long_names_written_.store(0);
    ring_number_.fetch_add(1);
    ring_.store(ring);
  }
  session_.fetch_add(1);
  return true;
}

void Recorder::SetPhase(Phase phase, uint64_t tick) {
  switch_tick_.store(tick);
  const uint64_t serial = (phase_.load() >> 2) + 1;
  phase_.store(serial << 2 | static_cast<uint64_t>(phase), std::memory_order_seq_cst);
  if (CROSSCUT_FAULT("session.phase")) return;
  const uint32_t enabled = phase == Phase::kOn || phase == Phase::kHidden ? 2 : 0;
  SetShared(enabled);
  const SlowPath guard;  // as above
  const Lock lock(&threads_mutex_);
  states_.ForEach([=](ThreadState* s) {
    if (phase == Phase::kOn) SetOnTick(s, tick);
    SetEnabled(s, enabled);
  });
}

bool Recorder::SomeThreadMarks() {
  const SlowPath guard;
  const crosscut_thread* self = crosscut_this_thread;
  const Lock lock(&threads_mutex_);
  bool some = false;
  states_.ForEach([&](const ThreadState* s) { some = some || (s != self && Busy(s) != 0); });
  return some;
}

// ---- The session stream -------------------------------------------------------------------------

uint64_t* Recorder::StreamReserve(uint64_t tick, uint32_t words, bool wait) {
  ChunkRing* ring = this->ring();
  if (ring == nullptr || words > kMostWordsInRing) return nullptr;
  uint64_t* chunk = stream_chunk_.load(std::memory_order_relaxed);
  const size_t used = chunk == nullptr ? 0 : static_cast<size_t>(stream_position_ - chunk);
  if (chunk != nullptr && format::kRingChunkWords - used > words && !IsStale(chunk, tick)) {
    return stream_position_;
  }
  uint64_t* fresh = ring->Claim(0, tick, true);
  for (int i = 0; wait && fresh == nullptr && i < kStreamWaits && drain_runs_.load(); ++i) {
    Nap();
    fresh = ring->Claim(0, tick, true);
  }
  if (fresh == nullptr) return nullptr;
  stream_chunk_.store(fresh, std::memory_order_release);
  if (chunk != nullptr) ring->PushFull(chunk);
  stream_position_ = fresh + kRingChunkHeaderWords;
  return stream_position_;
}

void Recorder::StreamCommit(uint64_t* at, uint64_t tick, uint64_t code, uint32_t words) {
  if (CROSSCUT_FAULT("stream.publish")) return;
  StoreWord(at, tick << format::kCodeBits | code);
  stream_position_ = at + words;
}

bool Recorder::WriteSession(uint64_t tick, uint64_t code, const uint64_t* payload, uint32_t n) {
  const Lock lock(&stream_mutex_);
  uint64_t* at = StreamReserve(tick, n + 1, /*wait=*/true);
  if (at == nullptr) return false;
  StoreWords(at + 1, payload, n);
  StreamCommit(at, tick, code, n + 1);
  return true;
}

bool Recorder::TryWriteSession(uint64_t tick, uint64_t code, const uint64_t* payload, uint32_t n) {
  if (pthread_mutex_trylock(&stream_mutex_) != 0) return false;
  uint64_t* at = StreamReserve(tick, n + 1, /*wait=*/false);
  if (at != nullptr) {
    StoreWords(at + 1, payload, n);
    StreamCommit(at, tick, code, n + 1);
  }
  pthread_mutex_unlock(&stream_mutex_);
  return at != nullptr;
}

bool Recorder::WriteMeta(std::string_view key, std::string_view value) {
  constexpr size_t kLongest = 16 << 10;
  key = key.substr(0, kLongest);
  value = value.substr(0, kLongest);
  const auto words = static_cast<uint32_t>(4 + TextWords(key.size()) + TextWords(value.size()));
  const Lock lock(&stream_mutex_);
  const uint64_t tick = ClockNow();
  uint64_t* at = StreamReserve(tick, words, /*wait=*/true);
  if (at == nullptr) return false;
  const uint64_t sizes[] = {key.size(), value.size(), 0};
  StoreWords(at + 1, sizes, 3);
  StoreText(at + 4, key);
  StoreText(at + 4 + TextWords(key.size()), value);
  StreamCommit(at, tick, format::kMeta, words);
  return true;
}

// ---- Names --------------------------------------------------------------------------------------

uint32_t Recorder::Intern(std::string_view text, uint64_t attributes) {
  pthread_mutex_lock(&stream_mutex_);
  uint32_t id = names_.Find(text, attributes);
  bool published = id != 0 && !GoesByTheDrain(names_.Get(id)), lost = false;
  if (id == 0 && !CROSSCUT_FAULT("names.add")) {
    const uint32_t before = names_.count();
    id = names_.Add(text, attributes, names_cap_);
    lost = id == 0;
    if (lost) id = names_.Unnamed(attributes);
    published = names_.count() == before || ring() == nullptr || PublishName(id);
  }
  pthread_mutex_unlock(&stream_mutex_);
  if (lost) CountShared(format::kDropNames);
  if (!published) AwaitDrainedName(id);
  return id;
}

uint32_t Recorder::GoesOn(uint32_t name) {
  format::NameAttributes attributes = KindOf(name);
  if (name - Names::kFirstId >= names_.count()) return 0;
  if ((attributes.flags & format::kFlagGoesOn) != 0) return name;
  attributes.flags |= format::kFlagGoesOn;
  const NameEntry& entry = names_.Get(name);
  return Intern({entry.text, entry.bytes}, attributes.Pack());
}

// The drain writes what the ring cannot take.
void Recorder::AwaitDrainedName(uint32_t id) {
  for (int i = 0; i < kStreamWaits && drain_runs_.load() && long_names_written_.load() < id; ++i) {
    if (ChunkRing* ring = this->ring()) ring->CallDrain();
    Nap();
  }
}

bool Recorder::PublishName(uint32_t id) {
  const NameEntry& name = names_.Get(id);
  const uint64_t words = 4 + TextWords(name.bytes);
  if (words > kMostWordsInRing) return false;
  const uint64_t tick = ClockNow();
  uint64_t* at = StreamReserve(tick, static_cast<uint32_t>(words), /*wait=*/true);
  if (at == nullptr) return false;
  const uint64_t facts[] = {id, name.attributes, name.bytes};
  StoreWords(at + 1, facts, 3);
  StoreText(at + 4, {name.text, name.bytes});
  StreamCommit(at, tick, format::kName, static_cast<uint32_t>(words));
  return true;
}

void Recorder::PublishAllNames() {
  const Lock lock(&stream_mutex_);
  const uint32_t count = names_.count();
  for (uint32_t i = 0; i < count; ++i) (void)PublishName(Names::kFirstId + i);
}

bool Recorder::GoesByTheDrain(const NameEntry& name) {
  return 4 + TextWords(name.bytes) > kMostWordsInRing;
}

// ---- Fork ---------------------------------------------------------------------------------------

void Recorder::AfterFork(void (*on_first_event)()) {
  const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  memcpy(&threads_mutex_, &fresh, sizeof fresh);
  memcpy(&stream_mutex_, &fresh, sizeof fresh);
  phase_.store(((phase_.load() >> 2) + 1) << 2);
  ring_.store(nullptr);
  states_.AfterFork();
  names_.AfterFork();
  parked_count_ = 0;
  parked_room_ = 0;
  parked_ = nullptr;
  stream_chunk_.store(nullptr);
  stream_position_ = nullptr;
  drain_runs_.store(false);
  long_names_written_.store(0);
  next_track_.store(1);
  ForgetThisThread();
  first_event_.store(on_first_event);
  SetShared(on_first_event != nullptr ? 2 : 0);
}

size_t Recorder::memory_bytes() const {
  const ChunkRing* ring = this->ring();
  return MappedBytes() + (ring == nullptr ? 0 : size_t{ring->prepared()} * kRingChunkBytes);
}

uint64_t Recorder::WordsOfThisThread() {
  if (Get().TrackOfThisThread() == 0) return 0;
  const auto* s = static_cast<const ThreadState*>(crosscut_this_thread);
  if (s->chunk == nullptr) return s->chunks * format::kRingChunkWords;
  return s->chunks * format::kRingChunkWords + static_cast<uint64_t>(s->position - s->chunk);
}

}  // namespace crosscut::record
