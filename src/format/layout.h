// The fixed structures of a log as the file has them: little endian, without padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "src/base/crc32c.h"
#include "src/format/format.h"

namespace crosscut::format {

struct LogHeader {
  uint64_t magic = kLogMagic;
  uint32_t version = kFormatVersion;
  uint32_t header_bytes = kLogHeaderBytes;
  uint64_t nonce = 0;
  int64_t pid = 0;
  uint64_t pid_start = 0;
  uint64_t start_tick = 0;
  uint64_t pid_namespace = 0;
  uint32_t boot = 0;  // low half of base::ProcessIdentity::boot
  uint32_t crc = 0;   // of the 60 bytes before it
};
static_assert(sizeof(LogHeader) == kLogHeaderBytes);

struct ChunkHeader {
  uint32_t magic = kChunkMagic;
  uint32_t type = 0;
  uint64_t length = 0;      // of the payload; the next chunk begins at the next multiple of 8
  uint32_t crc = 0;         // of the payload
  uint32_t header_crc = 0;  // of this header with header_crc = 0
  uint64_t position = 0;    // where in the file this header stands: a copy elsewhere is not valid
};
static_assert(sizeof(ChunkHeader) == kChunkHeaderBytes);

// The start of a session chunk's payload. The words follow, as they are or as one zstd frame.
struct SessionHead {
  uint64_t fill = 0;
  uint64_t base_tick = 0;
  uint64_t words = 0;
  uint32_t first_word = 0;
  uint32_t mode = 0;  // kColumnRaw or kColumnZstd
};
static_assert(sizeof(SessionHead) == 32);

// The start of an event chunk's payload. Behind it stand varints: for each piece {fill, first word,
// words, zigzag of the distance of its base tick from that of the piece before (the first: from
// first_tick)}, then the open names. Then come the columns, then zero bytes if the ratio limit
// needs them.
struct EventHead {
  uint32_t track = 0;
  uint32_t flags = 0;  // 0
  uint64_t words = 0;
  uint64_t events = 0;
  uint64_t first_tick = 0;  // the first piece's base tick
  uint64_t last_tick = 0;
  uint32_t pieces = 0;
  uint32_t open_names = 0;
  uint32_t head_bytes = 0;  // this head and the varints
  uint32_t head_crc = 0;    // of them with head_crc = 0
  uint64_t reserved = 0;
};
static_assert(sizeof(EventHead) == 64);

// The payload of the end chunk.
struct EndPayload {
  uint64_t index_position = 0;  // of the index chunk's header; 0: there is none
  uint64_t chunks = 0;          // session and event chunks in the log
  uint64_t words = 0;           // event words in it
  uint64_t reserved = 0;
};
static_assert(sizeof(EndPayload) == 32);

inline constexpr uint64_t kMaxBatchWords = uint64_t{2} << 20;  // of one event or session chunk
inline constexpr uint64_t kMaxOpenNames = 4096;
inline constexpr uint64_t kMaxPieces = 1024;
// Words * 8 never exceed the payload's bytes times this. It bounds the memory that a hostile file
// can demand.
inline constexpr uint64_t kMaxRatio = 256;

inline constexpr uint64_t AlignChunk(uint64_t position) { return (position + 7) & ~uint64_t{7}; }

inline uint32_t HeaderCrc(ChunkHeader header) {
  header.header_crc = 0;
  return base::Crc32c(&header, sizeof header);
}
inline uint32_t HeaderCrc(const LogHeader& header) {
  return base::Crc32c(&header, offsetof(LogHeader, crc));
}

}  // namespace crosscut::format
