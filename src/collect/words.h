// Stores into a chunk of the ring.
//
//   chunk   state | base tick | drained | track | 0 0 0 0 | word word word ... 0 0 0
//                                                            ^ head payload payload
//
// A reader finds the end of what is published by the first word that is 0, so the head of an event
// is stored last and publishes its payload. All the other stores are releases, too: another process
// may copy the chunk while it is used again (format/chunk_copy.h), and whoever finds any word of a
// later fill must find that `state` has changed. model_test.cc shows that this is needed, and
// enough.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "src/format/ring_words.h"

namespace crosscut::record {

inline void StoreWord(uint64_t* at, uint64_t word) { format::RingStore(*at, word); }

inline void StoreWords(uint64_t* at, const uint64_t* words, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) StoreWord(at + i, words[i]);
}

// An event with n payload words.
inline void StoreEvent(uint64_t* at, uint64_t head, const uint64_t* payload, uint32_t n) {
  StoreWords(at + 1, payload, n);
  StoreWord(at, head);
}

// The last word is filled up with zeros.
inline void StoreText(uint64_t* at, std::string_view text) {
  for (size_t i = 0; i < text.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, text.size() - i < 8 ? text.size() - i : 8);
    StoreWord(at + i / 8, word);
  }
}

// ---- The chunk's header, by who has the chunk ---------------------------------------------------

// It is all zero behind its header.
inline void BeginChunk(uint64_t* chunk, uint64_t fill, uint64_t tick, uint32_t track) {
  StoreWord(&chunk[format::kChunkBaseTick], tick);
  StoreWord(&chunk[format::kChunkTrack], track);
  StoreWord(&chunk[format::kChunkDrained], 0);
  StoreWord(&chunk[format::kChunkReserved], 0);
  StoreWord(&chunk[format::kChunkState], format::PackChunkState(fill, format::kChunkActive));
}

// Of the fill that it has.
inline void SetChunkState(uint64_t* chunk, format::RingChunkState state) {
  uint64_t* at = &chunk[format::kChunkState];
  StoreWord(at, format::PackChunkState(format::ChunkFill(format::RingLoad(*at)), state));
}

// A chunk of so many words. The state first: a reader that finds a word cleared finds the chunk
// free, too.
inline void ClearChunk(uint64_t* chunk, size_t words) {
  SetChunkState(chunk, format::kChunkFree);
  for (size_t i = format::kRingChunkHeaderWords; i < words; ++i) StoreWord(&chunk[i], 0);
}

}  // namespace crosscut::record
