#include "buffers.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace crosscut::cupti {
namespace {

// From malloc: a tool that takes our place in the middle of a session may free what it is handed.
constexpr size_t kAlignment = 64;

}  // namespace

Buffers::~Buffers() {
  for (uint32_t i = 0; i < made_; ++i) {
    if (slots_[i].state != State::kOut) std::free(slots_[i].memory);
  }
}

void Buffers::Prepare(uint32_t count, uint32_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  count_ = std::min(count, kMost);
  bytes_ = bytes;
  for (int i = 0; i < 2; ++i) {
    // Written to here, so that the program's thread takes no page fault.
    if (Slot* slot = Make()) std::memset(slot->memory, 0, bytes_);
  }
}

Buffers::Slot* Buffers::Make() {
  if (made_ == count_) return nullptr;
  auto* memory = static_cast<uint8_t*>(std::aligned_alloc(kAlignment, bytes_));
  if (memory == nullptr) return nullptr;
  Slot* slot = &slots_[made_++];
  *slot = {memory, 0, 0, 0, State::kFree};
  return slot;
}

uint8_t* Buffers::Take() {
  std::lock_guard<std::mutex> lock(mutex_);
  Slot* slot = nullptr;
  for (uint32_t i = 0; i < made_ && slot == nullptr; ++i) {
    if (slots_[i].state == State::kFree) slot = &slots_[i];
  }
  if (slot == nullptr) slot = Make();
  if (slot == nullptr) {
    ++refusals_;
    return nullptr;
  }
  slot->state = State::kOut;
  slot->session = session_;
  ++in_use_;
  return slot->memory;
}

Buffers::Slot* Buffers::Find(const uint8_t* buffer) {
  for (uint32_t i = 0; i < made_; ++i) {
    if (slots_[i].memory == buffer) return &slots_[i];
  }
  return nullptr;
}

void Buffers::Renew() {
  std::lock_guard<std::mutex> lock(mutex_);
  ++session_;
  refusals_ = 0;
}

Buffers::Kind Buffers::Complete(const uint8_t* buffer, size_t valid) {
  std::lock_guard<std::mutex> lock(mutex_);
  Slot* slot = Find(buffer);
  if (slot == nullptr || slot->state != State::kOut) return Kind::kForeign;
  if (slot->session != session_) {
    slot->state = State::kFree;
    --in_use_;
    return Kind::kLate;
  }
  slot->valid = static_cast<uint32_t>(std::min<size_t>(valid, bytes_));
  slot->order = completed_++;
  slot->state = State::kDone;
  return Kind::kFilled;
}

bool Buffers::Next(uint8_t** buffer, size_t* valid) {
  std::lock_guard<std::mutex> lock(mutex_);
  Slot* oldest = nullptr;
  for (uint32_t i = 0; i < made_; ++i) {
    Slot* slot = &slots_[i];
    if (slot->state != State::kDone) continue;
    // By difference, as the counter may wrap.
    if (oldest == nullptr || static_cast<int32_t>(slot->order - oldest->order) < 0) oldest = slot;
  }
  if (oldest == nullptr) return false;
  oldest->state = State::kRead;
  *buffer = oldest->memory;
  *valid = oldest->valid;
  return true;
}

void Buffers::Recycle(const uint8_t* buffer) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (Slot* slot = Find(buffer)) {
    slot->state = State::kFree;
    --in_use_;
  }
}

bool Buffers::Scarce() {
  std::lock_guard<std::mutex> lock(mutex_);
  return count_ - in_use_ < (count_ + 3) / 4;
}

uint64_t Buffers::TakeRefusals() {
  std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t refusals = refusals_;
  refusals_ = 0;
  return refusals;
}

}  // namespace crosscut::cupti
