// How a process copies a chunk that another may write, clear and use again meanwhile. Two copies
// are taken: a word that the first has is published, and what it needs stands in the second,
// however the kernel orders its copying. It orders one copy behind the other on every processor:
// each takes and gives back the page by ordered atomics. src/collect/words.h says what the writer
// does for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/format/ring_words.h"

namespace crosscut::format {

enum class ChunkCopied {
  kNot,      // nobody has filled it, it is not wanted, or it could not be read
  kChanged,  // it was used again meanwhile
  kWhole,    // both copies are of one fill
};

// `read(words)`: a system call that copies the chunk's first words.size() words, or false.
// `wanted(head)`: whether a chunk with this header is. `first` and `second`: room for the chunk.
template <class Read, class Wanted>
ChunkCopied CopyChunk(Read read, Wanted wanted, std::span<uint64_t> first,
                      std::span<uint64_t> second) {
  const auto in_use = [](uint64_t state) {
    return ChunkState(state) == kChunkActive || ChunkState(state) == kChunkFull;
  };
  const std::span<uint64_t> head = first.first(kRingChunkHeaderWords);
  if (!read(head)) return ChunkCopied::kNot;
  const uint64_t fill = ChunkFill(head[kChunkState]);
  if (!in_use(head[kChunkState]) || fill == 0 || !wanted(head)) return ChunkCopied::kNot;
  uint64_t after = 0;
  if (!read(first) || !read(second) || !read({&after, 1})) return ChunkCopied::kNot;
  const bool same = ChunkFill(first[kChunkState]) == fill && ChunkFill(after) == fill;
  return same && in_use(after) ? ChunkCopied::kWhole : ChunkCopied::kChanged;
}

// The index behind the last whole event of what was copied so.
inline size_t CopiedEnd(std::span<const uint64_t> first, std::span<const uint64_t> second) {
  size_t end = kRingChunkHeaderWords;
  while (end < second.size() && first[end] != 0) {
    const size_t length = EventLength(second, end);
    if (length == 0) break;
    end += length;
  }
  return end;
}

}  // namespace crosscut::format
