// The words of a ring: how they are loaded and stored, what those of a chunk mean. ring.h has the
// whole layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "src/base/atomic.h"
#include "src/format/format.h"

namespace crosscut::format {

// The two halves of a pair: who loads what was stored finds all that its writer stored before. What
// takes more than that (`request`, `steps`, the drop slots) uses sync::Ref.
template <class T>
T RingLoad(const T& field) {
  return sync::Ref(const_cast<T&>(field)).load(std::memory_order_acquire);
}
template <class T>
void RingStore(T& field, T value) {
  sync::Ref(field).store(value, std::memory_order_release);
}

inline constexpr uint64_t PackChunkState(uint64_t fill, RingChunkState state) {
  return fill << 8 | state;
}
inline constexpr uint64_t ChunkFill(uint64_t state_word) { return state_word >> 8; }
inline constexpr RingChunkState ChunkState(uint64_t state_word) {
  return static_cast<RingChunkState>(state_word & 0xff);
}

// The number of words of the event at words[at], whose first one is `word`: 1 + payload. 0 where
// nothing more is published: at a 0 word, an unknown code, or an event that does not fit into
// `words`.
inline size_t EventLength(uint64_t word, std::span<const uint64_t> words, size_t at) {
  const uint16_t code = static_cast<uint16_t>(word & kCodeMask);
  if (word == 0) return 0;
  const int fixed = FixedPayloadWords(code);
  const size_t left = words.size() - at - 1;
  if (fixed >= 0) return left >= static_cast<size_t>(fixed) ? 1 + fixed : 0;
  if (fixed < -3 || left < static_cast<size_t>(-fixed)) return 0;
  const uint64_t n = PayloadWords(code, words.data() + at + 1);
  return n <= left ? 1 + n : 0;
}
inline size_t EventLength(std::span<const uint64_t> words, size_t at) {
  return EventLength(words[at], words, at);
}

// The events in `words`, one behind the other, each with its payload, up to where EventLength is 0:
// for (const auto event : EventsOf(words)).
class EventsOf {
 public:
  class Iterator {
   public:
    explicit Iterator(std::span<const uint64_t> rest) : rest_(rest) { Measure(); }
    std::span<const uint64_t> operator*() const { return rest_.first(length_); }
    Iterator& operator++() {
      rest_ = rest_.subspan(length_);
      Measure();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return length_ == 0; }

   private:
    void Measure() { length_ = rest_.empty() ? 0 : EventLength(rest_, 0); }
    std::span<const uint64_t> rest_;
    size_t length_ = 0;
  };

  explicit EventsOf(std::span<const uint64_t> words) : words_(words) {}
  Iterator begin() const { return Iterator(words_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  std::span<const uint64_t> words_;
};

inline bool WholeEvents(std::span<const uint64_t> words) {
  size_t whole = 0;
  for (const auto event : EventsOf(words)) whole += event.size();
  return whole == words.size();
}

// The index behind the last whole event that is published from index `from` on, in a chunk of so
// many words that other threads may still write (event words are loaded with acquire).
inline size_t PublishedEnd(const uint64_t* words, size_t from = kRingChunkHeaderWords,
                           size_t count = kRingChunkWords) {
  size_t at = from;
  while (at < count) {
    const size_t length = EventLength(RingLoad(words[at]), {words, count}, at);
    if (length == 0) break;
    at += length;
  }
  return at;
}

}  // namespace crosscut::format
