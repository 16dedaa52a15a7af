// The bounded pool of activity buffers: CUPTI takes empty ones, and hands them back filled, on any
// thread and at any time, after the end of the session too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace crosscut::cupti {

class Buffers {
 public:
  static constexpr uint32_t kMost = 1024;

  Buffers() = default;
  // Frees what CUPTI does not hold.
  ~Buffers();
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  // At most `count` buffers of `bytes` each, two of them made at once. Once.
  void Prepare(uint32_t count, uint32_t bytes);

  // An empty buffer, or null where all are in use: CUPTI then drops records and counts them.
  uint8_t* Take();
  // A session ends: what is not handed back yet is late.
  void Renew();
  // CUPTI hands `buffer` back with `valid` bytes of records. Late ones are free again at once, with
  // what they hold.
  enum class Kind { kFilled, kLate, kForeign };
  Kind Complete(const uint8_t* buffer, size_t valid);
  // The oldest that was handed back, to be given to Recycle(); false where there is none.
  bool Next(uint8_t** buffer, size_t* valid);
  void Recycle(const uint8_t* buffer);

  // Fewer than a quarter are left for CUPTI to take.
  bool Scarce();
  // How often Take() had none since the last call.
  uint64_t TakeRefusals();
  uint32_t bytes() const { return bytes_; }

 private:
  enum class State : uint8_t { kFree, kOut, kDone, kRead };
  struct Slot {
    uint8_t* memory;
    uint32_t valid;
    uint32_t order;    // of completion
    uint32_t session;  // in which it was taken
    State state;
  };
  Slot* Find(const uint8_t* buffer);
  Slot* Make();

  std::mutex mutex_;  // of everything
  Slot slots_[kMost] = {};
  uint32_t made_ = 0, count_ = 0, bytes_ = 0;
  uint32_t in_use_ = 0;  // not free
  uint32_t completed_ = 0;
  uint32_t session_ = 0;
  uint64_t refusals_ = 0;
};

}  // namespace crosscut::cupti
