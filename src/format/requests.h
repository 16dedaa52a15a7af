// What `crosscut start|stop|snapshot` (the asker) and an armed process do to the header of its ring
// for a request: RingControl says in which order, and why. Futexes are the callers'.
#pragma once

#include <cstdint>

#include "src/format/ring.h"

namespace crosscut::format {

struct Request {
  RingRequest kind = kRequestNone;
  uint64_t at_step = kAtOnce;
  uint64_t step_count = 0;
  uint64_t limit_ns = 0;
  uint64_t window = 0;
};

inline uint32_t RequestWord(const RingHeader& header) {
  return sync::Ref(const_cast<uint32_t&>(header.request)).load(std::memory_order_seq_cst);
}

// ---- The asker, which holds the ring's lock -----------------------------------------------------

// Returns the word of the request.
inline uint32_t Ask(RingHeader* header, const Request& request) {
  RingControl& control = header->control;
  RingStore(control.at_step, request.at_step);
  RingStore(control.step_count, request.step_count);
  RingStore(control.limit_ns, request.limit_ns);
  RingStore(control.window, request.window);
  const uint32_t word = ((RequestWord(*header) >> 8) + 1) << 8 | request.kind;
  sync::Ref(header->request).store(word, std::memory_order_seq_cst);
  return word;
}

// Behind a request: a step that missed it is counted.
inline uint64_t StepsBegun(RingHeader* header) {
  return sync::Ref(header->control.steps).load(std::memory_order_seq_cst);
}

// Takes the request back. False where the process has claimed it.
inline bool WithdrawRequest(RingHeader* header) {
  uint32_t word = RequestWord(*header);
  if ((word & kRequestTaken) != 0) return false;
  const uint32_t none = (word & ~uint32_t{0xff}) | kRequestNone;
  return sync::Ref(header->request).compare_exchange_strong(word, none, std::memory_order_relaxed);
}

// With it come the answer and its words.
inline bool IsAnswered(const RingHeader& header, uint32_t word) {
  return RingLoad(header.answered) == word;
}

// ---- The process --------------------------------------------------------------------------------

// So many steps have begun. One thread at a time, before it looks for a request.
inline void CountSteps(RingHeader* header, uint64_t steps) {
  sync::Ref(header->control.steps).store(steps, std::memory_order_seq_cst);
}

// A request that waits and was not claimed yet, or 0. With it comes what it asks.
inline uint32_t WaitingRequest(const RingHeader& header) {
  const uint32_t word = RequestWord(header);
  const bool taken = (word & kRequestTaken) != 0;
  return taken || RequestOf(word) == kRequestNone ? 0 : word;
}

// Any thread: one of them, or the asker who takes it back, gets it.
inline bool ClaimRequest(RingHeader* header, uint32_t word) {
  return sync::Ref(header->request)
      .compare_exchange_strong(word, word | kRequestTaken, std::memory_order_relaxed);
}

// By who has claimed it, once the answer's words are there.
inline void Answer(RingHeader* header, uint32_t word, uint32_t answer) {
  RingStore(header->answer, answer);
  RingStore(header->answered, word);
}

}  // namespace crosscut::format
