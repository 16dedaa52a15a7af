// A table that one thread at a time adds to and that any thread reads without a lock: an entry is
// whole, and its block is there, before it is counted. Entries never move.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/base/atomic.h"

namespace crosscut::record {

template <class Entry, uint32_t kBlocks, uint32_t kBlockEntries>
class AppendOnly {
 public:
  static constexpr uint32_t kMost = kBlocks * kBlockEntries;
  static constexpr size_t kBlockBytes = kBlockEntries * sizeof(Entry);

  uint32_t count() const { return count_.load(std::memory_order_acquire); }
  // index < count().
  const Entry& operator[](uint32_t index) const {
    return static_cast<const Entry*>(blocks_[index / kBlockEntries])[index % kBlockEntries];
  }
  // `pages(bytes)`: memory for another block, or null: then false. Callers see to it that fewer
  // than kMost are there.
  template <class Value, class Pages>
  bool Add(const Value& value, Pages pages) {
    const uint32_t index = count_.load(std::memory_order_relaxed);  // a lock orders its stores
    if (index % kBlockEntries == 0 && blocks_[index / kBlockEntries] == nullptr) {
      auto* block = static_cast<Entry*>(pages(kBlockBytes));
      if (block == nullptr) return false;
      blocks_[index / kBlockEntries] = block;
    }
    static_cast<Entry*>(blocks_[index / kBlockEntries])[index % kBlockEntries] = value;
    count_.store(index + 1, std::memory_order_release);
    return true;
  }

 private:
  sync::Plain<Entry*> blocks_[kBlocks] = {};
  sync::Atomic<uint32_t> count_{0};
};

}  // namespace crosscut::record
