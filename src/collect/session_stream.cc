#include "src/collect/session_stream.h"

#include <string.h>
#include <time.h>

#include "src/base/fault_point.h"
#include "src/collect/clock.h"
#include "src/collect/lock.h"
#include "src/collect/losses.h"
#include "src/collect/words.h"

namespace crosscut::record {
namespace {

using format::kRingChunkHeaderWords;

constexpr uint32_t kMostWordsInRing = 6 << 10;  // of one session event
constexpr int kStreamWaits = 200;               // of 1 ms, for a clean chunk or the drain

void Nap() {
  const timespec ms = {0, 1'000'000};
  nanosleep(&ms, nullptr);
}

uint64_t TextWords(size_t bytes) { return (bytes + 7) / 8; }

}  // namespace

void SessionStream::Init() {
  const format::NameAttributes none;
  unnamed_.store(Intern(Names::kUnnamed, none.Pack()));
}

void SessionStream::Begin(ChunkRing* ring, size_t names_cap) {
  const Lock lock(&mutex_);
  names_cap_ = names_cap;
  if (ring == ring_.load()) return;
  chunk_.store(nullptr);
  position_ = nullptr;
  long_names_written_.store(0);
  ring_.store(ring);
}

void SessionStream::AfterFork() {
  const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  memcpy(&mutex_, &fresh, sizeof fresh);
  ring_.store(nullptr);
  names_.AfterFork();
  chunk_.store(nullptr);
  position_ = nullptr;
  drain_runs_.store(false);
  long_names_written_.store(0);
}

// ---- Writing ------------------------------------------------------------------------------------

uint64_t* SessionStream::Reserve(uint64_t tick, uint32_t words, bool wait) {
  ChunkRing* ring = this->ring();
  if (ring == nullptr || words > kMostWordsInRing) return nullptr;
  uint64_t* chunk = chunk_.load(std::memory_order_relaxed);  // the lock orders its stores
  const size_t used = chunk == nullptr ? 0 : static_cast<size_t>(position_ - chunk);
  if (chunk != nullptr && format::kRingChunkWords - used > words && !IsStale(chunk, tick)) {
    return position_;
  }
  uint64_t* fresh = ring->Claim(0, tick, true);
  for (int i = 0; wait && fresh == nullptr && i < kStreamWaits && drain_runs_.load(); ++i) {
    Nap();
    fresh = ring->Claim(0, tick, true);
  }
  if (fresh == nullptr) return nullptr;
  chunk_.store(fresh, std::memory_order_release);  // with the claim's header words
  if (chunk != nullptr) ring->PushFull(chunk);
  position_ = fresh + kRingChunkHeaderWords;
  return position_;
}

void SessionStream::Commit(uint64_t* at, uint64_t tick, uint64_t code, uint32_t words) {
  if (CROSSCUT_FAULT("stream.publish")) return;
  StoreWord(at, tick << format::kCodeBits | code);
  position_ = at + words;
}

bool SessionStream::Write(uint64_t tick, uint64_t code, const uint64_t* payload, uint32_t n) {
  const Lock lock(&mutex_);
  uint64_t* at = Reserve(tick, n + 1, /*wait=*/true);
  if (at == nullptr) return false;
  StoreWords(at + 1, payload, n);
  Commit(at, tick, code, n + 1);
  return true;
}

bool SessionStream::TryWrite(uint64_t tick, uint64_t code, const uint64_t* payload, uint32_t n) {
  if (pthread_mutex_trylock(&mutex_) != 0) return false;
  uint64_t* at = Reserve(tick, n + 1, /*wait=*/false);
  if (at != nullptr) {
    StoreWords(at + 1, payload, n);
    Commit(at, tick, code, n + 1);
  }
  pthread_mutex_unlock(&mutex_);
  return at != nullptr;
}

bool SessionStream::WriteMeta(std::string_view key, std::string_view value) {
  constexpr size_t kLongest = 16 << 10;
  key = key.substr(0, kLongest);
  value = value.substr(0, kLongest);
  const auto words = static_cast<uint32_t>(4 + TextWords(key.size()) + TextWords(value.size()));
  const Lock lock(&mutex_);
  const uint64_t tick = ClockNow();
  uint64_t* at = Reserve(tick, words, /*wait=*/true);
  if (at == nullptr) return false;
  const uint64_t sizes[] = {key.size(), value.size(), 0};
  StoreWords(at + 1, sizes, 3);
  StoreText(at + 4, key);
  StoreText(at + 4 + TextWords(key.size()), value);
  Commit(at, tick, format::kMeta, words);
  return true;
}

// ---- Names --------------------------------------------------------------------------------------

uint32_t SessionStream::Intern(std::string_view text, uint64_t attributes) {
  pthread_mutex_lock(&mutex_);
  uint32_t id = names_.Find(text, attributes);
  bool published = id != 0 && !GoesByTheDrain(names_.Get(id)), lost = false;
  if (id == 0 && !CROSSCUT_FAULT("names.add")) {
    const uint32_t before = names_.count();
    id = names_.Add(text, attributes, names_cap_);
    lost = id == 0;
    if (lost) id = names_.Unnamed(attributes);
    published = names_.count() == before || ring() == nullptr || PublishName(id);
  }
  pthread_mutex_unlock(&mutex_);
  if (lost) CountShared(format::kDropNames);
  if (!published) AwaitDrainedName(id);
  return id;
}

uint32_t SessionStream::GoesOn(uint32_t name) {
  format::NameAttributes attributes = KindOf(name);
  if (name - Names::kFirstId >= names_.count()) return 0;
  if ((attributes.flags & format::kFlagGoesOn) != 0) return name;
  attributes.flags |= format::kFlagGoesOn;
  const NameEntry& entry = names_.Get(name);
  return Intern({entry.text, entry.bytes}, attributes.Pack());
}

// The drain writes what the ring cannot take.
void SessionStream::AwaitDrainedName(uint32_t id) {
  for (int i = 0; i < kStreamWaits && drain_runs_.load() && long_names_written_.load() < id; ++i) {
    if (ChunkRing* ring = this->ring()) ring->CallDrain();
    Nap();
  }
}

bool SessionStream::PublishName(uint32_t id) {
  const NameEntry& name = names_.Get(id);
  const uint64_t words = 4 + TextWords(name.bytes);
  if (words > kMostWordsInRing) return false;
  const uint64_t tick = ClockNow();
  uint64_t* at = Reserve(tick, static_cast<uint32_t>(words), /*wait=*/true);
  if (at == nullptr) return false;
  const uint64_t facts[] = {id, name.attributes, name.bytes};
  StoreWords(at + 1, facts, 3);
  StoreText(at + 4, {name.text, name.bytes});
  Commit(at, tick, format::kName, static_cast<uint32_t>(words));
  return true;
}

void SessionStream::PublishAllNames() {
  const Lock lock(&mutex_);
  const uint32_t count = names_.count();
  for (uint32_t i = 0; i < count; ++i) (void)PublishName(Names::kFirstId + i);
}

bool SessionStream::GoesByTheDrain(const NameEntry& name) {
  return 4 + TextWords(name.bytes) > kMostWordsInRing;
}

format::NameAttributes SessionStream::KindOf(uint64_t name) const {
  if (name - Names::kFirstId >= names_.count()) return {};
  return format::NameAttributes::Unpack(names_.Get(static_cast<uint32_t>(name)).attributes);
}

}  // namespace crosscut::record
