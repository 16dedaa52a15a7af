// What writers and readers of logs share: the identity of a log, and how much a chunk of it holds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/format/format.h"

namespace crosscut::format {

// The most words that one event chunk of the log holds; larger appends are split. Batches of this
// size pack best: 16 ring chunks of one track.
inline constexpr size_t kLogBatchWords = 16 * kRingChunkWords;

struct LogIdentity {
  uint64_t nonce = 0;  // as in the ring's header; not 0
  int64_t pid = 0;
  uint64_t pid_start = 0;  // base::ProcessIdentity::start
  uint64_t start_tick = 0;
  // Fields of base::ProcessIdentity; LogWriter::Create fills them in for the calling process where
  // they are 0.
  uint64_t pid_namespace = 0;
  uint32_t boot = 0;  // the low half
};

}  // namespace crosscut::format
