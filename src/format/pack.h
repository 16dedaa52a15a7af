// Event words as columns. A log's event chunk holds behind its head each column once, in the order
// of Column, as {mode byte, varint raw bytes, varint stored bytes, data}. docs/format.md,
// "Columns", says what each holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "src/base/pod_vector.h"
#include "src/base/status.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace crosscut::format {

enum Column {
  kColumnShape = 0,  // one bit per event, lowest first: 1 = kEnd
  kColumnCodeLow,    // codes of the other events
  kColumnCodeHigh,
  kColumnTick0,  // time residuals, 24 bits in three byte planes
  kColumnTick1,
  kColumnTick2,
  kColumnTickWide,  // residuals of 0xffffff and more, as varints
  kColumnPayload0,  // the first payload words, as varints
  kColumnPayload1,
  kColumnPayload2,
  kColumnPayloadRest,  // the fourth and later fixed payload words
  kColumnTail,         // tails of names and blobs, as they are
  kColumnCount,
};

enum ColumnMode : uint8_t {
  kColumnRaw = 0,
  kColumnZstd = 1,
  kColumnConstant = 2,  // one byte, repeated
};

// A run of whole events as they stood in a ring chunk.
struct Piece {
  uint64_t fill = 0;        // the ring fill; 0: from no ring (then never a duplicate)
  uint32_t first_word = 0;  // index in the ring chunk of words[0]
  uint64_t base_tick = 0;   // full tick at or (a little) before the first word
  std::span<const uint64_t> words;
};

// Where a piece of an unpacked batch came from.
struct PieceOrigin {
  uint64_t fill = 0;
  uint32_t first_word = 0;  // in the ring chunk
  uint32_t words = 0;
  uint64_t base_tick = 0;  // full tick for the first of these words
};

class Packer {
 public:
  static std::unique_ptr<Packer> Create();  // null where there is no memory
  ~Packer();

  // Appends the columns of the pieces' words to `out` and sets `*last_tick` to the full tick of the
  // last event. kInvalid where a piece does not consist of whole events, kLimit where there is no
  // memory.
  Status Pack(std::span<const Piece> pieces, base::PodVector<uint8_t>* out, uint64_t* last_tick);
  uint64_t events() const;  // of the last Pack

 private:
  struct State;
  explicit Packer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Unpacker {
 public:
  // Null where there is no memory.
  static std::unique_ptr<Unpacker> Create();
  ~Unpacker();

  // Restores the words of `events` events from `columns` into `words`, whose size is the number of
  // words expected. kCorrupt where the columns do not agree with that. Allocates at most about 14
  // bytes per word.
  Status Unpack(std::span<const uint8_t> columns, uint64_t events,
                std::span<const PieceOrigin> pieces, std::span<uint64_t> words);

 private:
  struct State;
  explicit Unpacker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace crosscut::format
