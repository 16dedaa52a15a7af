// The lists of a ring's chunks, by index. All lock-free; the memory of the tables is the caller's,
// zeroed. A chunk is in one list, once.
//
// What must hold, and which order sees to it (model_test.cc tries each with less):
// - Who takes a chunk finds it as who added it left it: a clean one all zero, a full one with all
//   its words. Adding is a release, taking an acquire.
// - CleanChunks never counts more than have a bit: a bit is set before it is counted, and counted
//   off before it is cleared, so Take() finds one.
// - FullChunks is taken whole, so no chunk can come back meanwhile (no ABA).
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/base/atomic.h"

namespace crosscut::record {

class CleanChunks {
 public:
  static uint32_t Words(uint32_t chunks) { return (chunks + 63) / 64; }

  void Init(sync::Atomic<uint64_t>* bits, uint32_t chunks) {
    bits_ = bits;
    words_ = Words(chunks);
  }
  uint32_t count() const { return count_.load(std::memory_order_relaxed); }
  void Add(uint32_t index) {
    bits_[index / 64].fetch_or(uint64_t{1} << (index % 64), std::memory_order_release);
    count_.fetch_add(1, std::memory_order_release);
  }
  // Counts one off if more than `reserved` are there.
  bool TakeCount(uint32_t reserved) {
    uint32_t have = count_.load(std::memory_order_relaxed);
    do {
      if (have <= reserved) return false;
    } while (!count_.compare_exchange_weak(have, have - 1, std::memory_order_acquire));
    return true;
  }
  // The caller has taken its count: there is a bit for it.
  uint32_t Take() {
    for (uint32_t w = 0;; w = w + 1 == words_ ? 0 : w + 1) {
      uint64_t bits = bits_[w].load(std::memory_order_relaxed);
      while (bits != 0) {
        const int bit = __builtin_ctzll(bits);
        const uint64_t mask = uint64_t{1} << bit;
        const uint64_t before = bits_[w].fetch_and(~mask, std::memory_order_acquire);
        if ((before & mask) != 0) return w * 64 + static_cast<uint32_t>(bit);
        bits = before & ~mask;
      }
    }
  }

 private:
  sync::Atomic<uint64_t>* bits_ = nullptr;
  uint32_t words_ = 0;
  sync::Atomic<uint32_t> count_{0};
};

class FullChunks {
 public:
  void Init(sync::Atomic<uint32_t>* next) { next_ = next; }
  void Add(uint32_t index) {
    uint32_t head = head_.load(std::memory_order_relaxed);
    do {
      next_[index].store(head, std::memory_order_relaxed);
    } while (!head_.compare_exchange_weak(head, index + 1, std::memory_order_release));
  }
  // Takes all, `most` at most, in the order in which each thread added them; returns how many.
  uint32_t TakeAll(uint32_t* indices, uint32_t most) {
    uint32_t link = head_.exchange(0, std::memory_order_acquire);
    uint32_t n = 0;
    while (link != 0 && n < most) {
      indices[n++] = link - 1;
      link = next_[link - 1].load(std::memory_order_relaxed);
    }
    for (uint32_t i = 0; i < n / 2; ++i) {
      const uint32_t other = indices[n - 1 - i];
      indices[n - 1 - i] = indices[i];
      indices[i] = other;
    }
    return n;
  }

 private:
  sync::Atomic<uint32_t>* next_ = nullptr;  // index + 1 of the one added before: published by head_
  sync::Atomic<uint32_t> head_{0};          // index + 1
};

// Of a flight recorder: full chunks wait until who needs room, or a snapshot, takes the oldest.
class WaitingChunks {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  void Init(sync::Atomic<uint64_t>* words) { words_ = words; }
  void Add(uint32_t index) {
    words_[index].fetch_or((added_.fetch_add(1, std::memory_order_relaxed) + 1) << 1,
                           std::memory_order_release);
  }
  // How many were added, before the last of them waits: who takes those up to this number leaves
  // that one for the next time.
  uint64_t added() const { return added_.load(std::memory_order_relaxed); }
  // The first one among the first `added` that nobody holds, of the first `chunks`, or kNone.
  uint32_t TakeOldest(uint64_t added, uint32_t chunks) {
    for (;;) {
      uint32_t oldest = kNone;
      uint64_t least = (added + 1) << 1;
      for (uint32_t i = 0; i < chunks; ++i) {
        const uint64_t word = words_[i].load(std::memory_order_relaxed);
        if (word == 0 || (word & 1) != 0 || word >= least) continue;
        oldest = i;
        least = word;
      }
      if (oldest == kNone) return kNone;
      if (words_[oldest].compare_exchange_strong(least, 0, std::memory_order_acquire)) {
        return oldest;
      }
    }
  }
  uint32_t count(uint32_t chunks) const {
    uint32_t n = 0;
    for (uint32_t i = 0; i < chunks; ++i) {
      n += words_[i].load(std::memory_order_relaxed) > 1 ? 1 : 0;
    }
    return n;
  }
  // Between the two nobody takes the chunk, though it may be added. One that was taken before shows
  // in its state, which its owner stored before it was added.
  void Hold(uint32_t index) { words_[index].fetch_or(1, std::memory_order_acquire); }
  void Release(uint32_t index) { words_[index].fetch_and(~uint64_t{1}, std::memory_order_release); }

 private:
  sync::Atomic<uint64_t>* words_ = nullptr;  // by index: number of its adding << 1 | held
  sync::Atomic<uint64_t> added_{0};          // each number is taken once
};

}  // namespace crosscut::record
