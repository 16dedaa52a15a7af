// A sequence that grows without moving most of what it holds, and gives back what is no longer
// needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace crosscut::trace {

// Blocks of 2^kBits elements. The first block grows like a vector and is never given back, because
// most sequences are short. Moves, but is not copied.
template <class T, int kBits>
class Blocks {
 public:
  size_t size() const { return size_; }
  void push_back(const T& value) {
    if (size_ < kBlock) {
      first_.push_back(value);
    } else {
      if (size_ % kBlock == 0) more_.push_back({std::make_unique_for_overwrite<T[]>(kBlock), 0});
      more_.back().elements[size_ % kBlock] = value;
    }
    ++size_;
  }
  T& operator[](size_t i) { return i < kBlock ? first_[i] : BlockOf(i).elements[i % kBlock]; }
  const T& operator[](size_t i) const {
    return i < kBlock ? first_[i] : more_[i / kBlock - 1].elements[i % kBlock];
  }
  // Element i will not be used again. Call it once for each i. A block of which all elements are
  // forgotten is given back.
  void Forget(size_t i) {
    if (i < kBlock) return;
    Block& block = BlockOf(i);
    if (++block.forgotten == kBlock) block.elements.reset();
  }

 private:
  static constexpr size_t kBlock = size_t{1} << kBits;
  struct Block {
    std::unique_ptr<T[]> elements;
    uint32_t forgotten;
  };
  Block& BlockOf(size_t i) { return more_[i / kBlock - 1]; }

  std::vector<T> first_;
  std::vector<Block> more_;
  size_t size_ = 0;
};

}  // namespace crosscut::trace
