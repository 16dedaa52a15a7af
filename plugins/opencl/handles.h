// A map from OpenCL handles to numbers, without locks.
#pragma once

#include <atomic>
#include <cstdint>

namespace crosscut::opencl {

// Forgets what collides: the owner can find a number again by slower means. A number that it
// returns is always the handle's own: slot and tag together hold all 48 bits of an address that is
// aligned to 8 bytes.
class HandleCache {
 public:
  // 0 where it is not known.
  uint32_t Get(const void* handle) const {
    const uint64_t word = slots_[Slot(handle)].load(std::memory_order_acquire);
    return word >> 32 == Tag(handle) ? static_cast<uint32_t>(word) : 0;
  }
  void Put(const void* handle, uint32_t number) {
    slots_[Slot(handle)].store(Tag(handle) << 32 | number, std::memory_order_release);
  }
  void Forget(const void* handle) {
    uint64_t word = slots_[Slot(handle)].load(std::memory_order_relaxed);
    if (word >> 32 == Tag(handle)) slots_[Slot(handle)].compare_exchange_strong(word, 0);
  }

 private:
  static constexpr int kBits = 13;
  static uint64_t Address(const void* handle) { return reinterpret_cast<uintptr_t>(handle) >> 3; }
  static uint64_t Slot(const void* handle) { return Address(handle) & ((1u << kBits) - 1); }
  static uint64_t Tag(const void* handle) { return (Address(handle) >> kBits) & 0xffffffffu; }

  std::atomic<uint64_t> slots_[1u << kBits] = {};
};

}  // namespace crosscut::opencl
