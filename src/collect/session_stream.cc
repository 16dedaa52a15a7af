#include "src/collect/session_stream.h"

#include <time.h>

#include "src/base/fault_point.h"
#include "src/collect/clock.h"
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

bool IsLong(const NameEntry& name) { return 4 + TextWords(name.bytes) > kMostWordsInRing; }

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
  ring_.store(ring);
}

void SessionStream::LeaveRing() {
  const Lock lock(&mutex_);
  ring_.store(nullptr);
  chunk_.store(nullptr);
  position_ = nullptr;
}

void SessionStream::AfterFork() {
  ring_.store(nullptr);
  names_.AfterFork();
  chunk_.store(nullptr);
  position_ = nullptr;
  drain_runs_.store(false);
  drain_writes_ = false;
  stalled_.store(false);
  published_.store(0);
  told_ = 0;
}

// ---- Writing ------------------------------------------------------------------------------------

uint64_t* SessionStream::Reserve(uint64_t tick, uint32_t words, bool name) {
  ChunkRing* ring = this->ring();
  if (ring == nullptr || words > kMostWordsInRing) return nullptr;
  uint64_t* chunk = chunk_.load(std::memory_order_relaxed);  // the lock orders its stores
  const size_t used = chunk == nullptr ? 0 : static_cast<size_t>(position_ - chunk);
  if (chunk != nullptr && format::kRingChunkWords - used > words && !IsStale(chunk, tick)) {
    return position_;
  }
  uint64_t* fresh = ring->Claim(0, tick, /*for_session=*/!name);
  if (fresh == nullptr) return nullptr;
  if (chunk != nullptr) ring->PushFull(chunk);
  chunk_.store(fresh, std::memory_order_release);  // with the claim's header words
  position_ = fresh + kRingChunkHeaderWords;
  return position_;
}

void SessionStream::Commit(uint64_t* at, uint64_t tick, uint64_t code, uint32_t words) {
  if (CROSSCUT_FAULT("stream.publish")) return;
  StoreWord(at, tick << format::kCodeBits | code);
  position_ = at + words;
}

template <class Fill>
bool SessionStream::Append(uint64_t tick, uint64_t code, uint32_t words, bool waits, Fill fill) {
  for (int naps = 0;; ++naps) {
    {
      const Lock lock(&mutex_);
      if (uint64_t* at = Reserve(tick, words, /*name=*/false)) {
        fill(at + 1);
        Commit(at, tick, code, words);
        stalled_.store(false);
        return true;
      }
    }
    if (!waits || !drain_runs_.load() || stalled_.load()) return false;
    if (naps == kStreamWaits) {
      stalled_.store(true);
      return false;
    }
    Nap();
  }
}

bool SessionStream::Write(uint64_t tick, uint64_t code, const uint64_t* payload, uint32_t n) {
  return Append(tick, code, n + 1, /*waits=*/true,
                [=](uint64_t* at) { StoreWords(at, payload, n); });
}

bool SessionStream::TryWrite(uint64_t tick, uint64_t code, const uint64_t* payload, uint32_t n) {
  return Append(tick, code, n + 1, /*waits=*/false,
                [=](uint64_t* at) { StoreWords(at, payload, n); });
}

bool SessionStream::WriteMeta(std::string_view key, std::string_view value) {
  constexpr size_t kLongest = 16 << 10;
  key = key.substr(0, kLongest);
  value = value.substr(0, kLongest);
  const auto words = static_cast<uint32_t>(4 + TextWords(key.size()) + TextWords(value.size()));
  return Append(ClockNow(), format::kMeta, words, /*waits=*/true, [=](uint64_t* at) {
    const uint64_t sizes[] = {key.size(), value.size(), 0};
    StoreWords(at, sizes, 3);
    StoreText(at + 3, key);
    StoreText(at + 3 + TextWords(key.size()), value);
  });
}

// ---- Names --------------------------------------------------------------------------------------

uint32_t SessionStream::Intern(std::string_view text, uint64_t attributes) {
  uint32_t id = 0;
  bool lost = false;
  {
    const Lock lock(&mutex_);
    id = names_.Find(text, attributes);
    if (id == 0 && !CROSSCUT_FAULT("names.add")) {
      id = names_.Add(text, attributes, names_cap_);
      lost = id == 0;
      if (lost) id = names_.Unnamed(attributes);
      PublishNames();
    }
  }
  if (lost) CountShared(format::kDropNames, 1);
  if (id != 0 && IsLong(names_.Get(id))) AwaitLongName(id);
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

// So that even a process that is killed has its text.
void SessionStream::AwaitLongName(uint32_t id) {
  for (int naps = 0; published_.load() <= id - Names::kFirstId; ++naps) {
    ChunkRing* ring = this->ring();
    if (ring == nullptr || !drain_runs_.load() || stalled_.load()) return;
    if (naps == kStreamWaits) return stalled_.store(true);
    ring->CallDrain();
    Nap();
  }
}

// In their order, up to one that must wait for the drain.
void SessionStream::PublishNames() {
  if (ring() == nullptr || drain_writes_) return;
  const uint32_t count = names_.count();
  uint32_t next = published_.load(std::memory_order_relaxed);
  while (next < count && PublishName(Names::kFirstId + next)) ++next;
  published_.store(next);
  TellUnpublished();
}

bool SessionStream::PublishName(uint32_t id) {
  const NameEntry& name = names_.Get(id);
  if (IsLong(name)) return false;
  const auto words = static_cast<uint32_t>(4 + TextWords(name.bytes));
  const uint64_t tick = ClockNow();
  uint64_t* at = Reserve(tick, words, /*name=*/true);
  if (at == nullptr) return false;
  const uint64_t facts[] = {id, name.attributes, name.bytes};
  StoreWords(at + 1, facts, 3);
  StoreText(at + 4, {name.text, name.bytes});
  Commit(at, tick, format::kName, words);
  return true;
}

void SessionStream::TellUnpublished() {
  const uint32_t missing = names_.count() - published_.load(std::memory_order_relaxed);
  if (missing != told_ && CountShared(format::kDropNames, int64_t{missing} - told_)) {
    told_ = missing;
  }
}

void SessionStream::PublishAllNames() {
  const Lock lock(&mutex_);
  published_.store(0);
  told_ = 0;
  PublishNames();
}

uint32_t SessionStream::TakeUnpublished() {
  const Lock lock(&mutex_);
  const uint32_t next = published_.load(std::memory_order_relaxed);
  drain_writes_ = next < names_.count();
  return drain_writes_ ? Names::kFirstId + next : 0;
}

void SessionStream::Published(bool written) {
  const Lock lock(&mutex_);
  drain_writes_ = false;
  if (written) published_.fetch_add(1);
  TellUnpublished();
}

format::NameAttributes SessionStream::KindOf(uint64_t name) const {
  if (name - Names::kFirstId >= names_.count()) return {};
  return format::NameAttributes::Unpack(names_.Get(static_cast<uint32_t>(name)).attributes);
}

}  // namespace crosscut::record
