// For the tests and fuzz seeds of this folder: random but valid words, and rings as a recorder
// leaves them.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "src/base/process.h"
#include "src/format/format.h"
#include "src/format/ring.h"

namespace crosscut::format::testing {

inline uint64_t Word(uint64_t tick, uint64_t code) { return tick << kCodeBits | code; }

// Whole events of every kind on one track, ticks mostly rising from *tick.
inline std::vector<uint64_t> RandomEvents(std::mt19937_64* random, size_t events, uint64_t* tick) {
  static constexpr uint16_t kCodes[] = {
      kBeginWide, kEndNamed,  kInstant,   kCounter, kArg,       kArgName,   kFlowOut,  kFlowIn,
      kSpanAt,    kStepLevel, kBase,      kOff,     kOn,        kDrop,      kPause,    kName,
      kProbeCost, kMeta,      kTrack,     kSpanOn,  kInstantOn, kCounterOn, kArgOn,    kArgNameOn,
      kFlowOn,    kDropOn,    kAllocated, kFreed,   kFreedAt,   kMemory,    kNoMemory, kGoesOnWith};
  std::vector<uint64_t> words;
  auto value = [&] { return (*random)() >> (*random)() % 64; };
  for (size_t i = 0; i < events; ++i) {
    const uint64_t step = value() >> 20;
    *tick = (*random)() % 20 == 0 && step < 1000 ? *tick - step : *tick + step;
    const uint64_t kind = (*random)() % 10;
    if (kind < 4) {
      words.push_back(Word(*tick, kEnd));
    } else if (kind < 8) {
      words.push_back(Word(*tick, kFirstNameCode + (*random)() % 0xff00));
    } else {
      const uint16_t code = kCodes[(*random)() % std::size(kCodes)];
      words.push_back(Word(*tick, code));
      const int fixed = FixedPayloadWords(code);
      uint64_t payload[8];
      for (uint64_t& word : payload) word = value();
      if (code == kSpanAt) payload[1] = *tick - value() % 1000, payload[2] = *tick;
      if (code == kName) payload[2] = (*random)() % 200;
      if (code == kMeta) payload[0] = (*random)() % 50, payload[1] = (*random)() % 50;
      const uint64_t all = PayloadWords(code, payload);
      for (uint64_t k = 0; k < all; ++k) {
        words.push_back(k < static_cast<uint64_t>(fixed < 0 ? -fixed : fixed) ? payload[k]
                                                                              : (*random)());
      }
    }
  }
  return words;
}

inline std::vector<uint64_t> ThreadWords(uint32_t track, uint64_t tick, uint64_t flags = 0) {
  return {Word(tick, kThread), track, 1000 + track, flags, tick};
}

// The bytes of a ring file, filled chunk by chunk.
class RingBuilder {
 public:
  RingBuilder(uint64_t chunks, uint64_t nonce)
      : bytes_(kRingHeaderBytes + chunks * kRingChunkBytes, 0) {
    RingHeader& h = header();
    h.magic = kRingMagic;
    h.version = kFormatVersion;
    h.header_bytes = kRingHeaderBytes;
    h.chunk_count = chunks;
    h.nonce = nonce;
    h.pid = 999999999;  // above every kernel's limit: nobody
    h.state = kRingRecording;
    h.start_tick = 1000;
    h.next_fill = 1;
    h.first_fill = 1;
    h.tick_source = kTicksTsc;
    strcpy(h.log_name, "p1-1.crosscut");
  }
  RingHeader& header() { return *reinterpret_cast<RingHeader*>(bytes_.data()); }
  RingDropSlot& drop(size_t i) {
    return reinterpret_cast<RingDropSlot*>(bytes_.data() + kRingPageBytes)[i];
  }
  uint64_t* chunk(uint64_t i) {
    return reinterpret_cast<uint64_t*>(bytes_.data() + kRingHeaderBytes + i * kRingChunkBytes);
  }
  // Fills chunk `i`; returns the fill.
  uint64_t Fill(uint64_t i, uint32_t track, uint64_t tick, const std::vector<uint64_t>& words,
                RingChunkState state = kChunkActive) {
    uint64_t* at = chunk(i);
    const uint64_t fill = header().next_fill++;
    at[kChunkState] = PackChunkState(fill, state);
    at[kChunkBaseTick] = tick;
    at[kChunkTrack] = track;
    memcpy(at + kRingChunkHeaderWords, words.data(), words.size() * 8);
    return fill;
  }
  std::vector<char>& bytes() { return bytes_; }

 private:
  std::vector<char> bytes_;
};

}  // namespace crosscut::format::testing
