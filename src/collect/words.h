// Stores into a chunk of the ring.
//
//   chunk   state | base tick | drained | track | 0 0 0 0 | word word word ... 0 0 0
//                                                            ^ head payload payload
//
// A reader finds the end of what is published by the first word that is 0, so the head of an event
// is stored last and publishes its payload. All the other stores are releases, too: another process
// may copy the chunk while it is used again, and whoever finds any word of a later fill must find
// that `state` has changed. litmus_test.cc shows that this is needed, and enough.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace crosscut::record {

inline void StoreWord(uint64_t* at, uint64_t word) { __atomic_store_n(at, word, __ATOMIC_RELEASE); }

inline void StoreWords(uint64_t* at, const uint64_t* words, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) StoreWord(at + i, words[i]);
}

// The last word is filled up with zeros.
inline void StoreText(uint64_t* at, std::string_view text) {
  for (size_t i = 0; i < text.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, text.size() - i < 8 ? text.size() - i : 8);
    StoreWord(at + i / 8, word);
  }
}

}  // namespace crosscut::record
