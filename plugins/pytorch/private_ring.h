// For calibrations: while it lives, the calling thread records into a chunk of its own, which
// nobody reads but the caller. One at a time in the process.
#pragma once

#include <crosscut/crosscut.h>

#include <cstdint>

namespace crosscut::pytorch {

class PrivateRing {
 public:
  PrivateRing() : before_(crosscut_this_thread) {
    thread_.enabled = 1;
    Rewind();
    crosscut_this_thread = &thread_;
  }
  ~PrivateRing() { crosscut_this_thread = before_; }
  PrivateRing(const PrivateRing&) = delete;
  PrivateRing& operator=(const PrivateRing&) = delete;

  void Rewind() { thread_.position = chunk_; }
  const uint64_t* words() const { return chunk_; }

 private:
  alignas(64 << 10) static inline uint64_t chunk_[(64 << 10) / 8];
  crosscut_thread* const before_;
  crosscut_thread thread_ = {};
};

}  // namespace crosscut::pytorch
