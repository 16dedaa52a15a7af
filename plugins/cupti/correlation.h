// From CUPTI's correlation ids to a word of ours, for the latest ids.
//
// Ids count up in the process, so an id's low bits are its slot and an entry is overwritten by the
// id that comes `capacity` later. The two words of a slot check each other: a reader that meets a
// half-written slot, or one of another id, finds nothing.
// Threads: Put() and Find() from any; no locks. Prepare() and Clear() from one.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>

namespace crosscut::cupti {

// The word of a launch in a control step; no arrow has this number.
constexpr uint64_t kLeftOut = UINT64_MAX;

class CorrelationTable {
 public:
  CorrelationTable() = default;
  ~CorrelationTable() { std::free(slots_); }
  CorrelationTable(const CorrelationTable&) = delete;
  CorrelationTable& operator=(const CorrelationTable&) = delete;

  // Once. Pages are touched as ids come. Without memory the table stays empty.
  void Prepare(uint32_t capacity) {
    const uint32_t slots = std::bit_ceil(capacity);
    slots_ = static_cast<Slot*>(std::calloc(slots, sizeof(Slot)));
    mask_ = slots_ == nullptr ? 0 : slots - 1;
  }

  void Put(uint32_t id, uint64_t value) {
    if (slots_ == nullptr || id == 0) return;
    Slot& slot = slots_[id & mask_];
    slot.check.store(value ^ Mark(id), std::memory_order_relaxed);
    slot.value.store(value, std::memory_order_relaxed);
  }

  // 0: never put, or overwritten since.
  uint64_t Find(uint32_t id) const {
    if (slots_ == nullptr || id == 0) return 0;
    const Slot& slot = slots_[id & mask_];
    const uint64_t value = slot.value.load(std::memory_order_relaxed);
    const uint64_t check = slot.check.load(std::memory_order_relaxed);
    return (value ^ check) == Mark(id) ? value : 0;
  }

  // Forgets every id: those of another session.
  void Clear() { session_.fetch_add(1, std::memory_order_relaxed); }

 private:
  struct Slot {
    std::atomic<uint64_t> value, check;
  };
  uint64_t Mark(uint32_t id) const {
    return (session_.load(std::memory_order_relaxed) << 32 | id) * 0x9e3779b97f4a7c15u;
  }

  Slot* slots_ = nullptr;
  uint32_t mask_ = 0;
  std::atomic<uint64_t> session_{1};
};

}  // namespace crosscut::cupti
