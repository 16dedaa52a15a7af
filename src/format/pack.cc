#include "src/format/pack.h"

#define ZSTD_STATIC_LINKING_ONLY  // for ZSTD_c_literalCompressionMode
#include <zstd.h>

#include <new>

#include "src/base/varint.h"
#include "src/format/pack_model.h"
#include "src/format/ring.h"

namespace crosscut::format {
namespace {

constexpr int kZstdLevel = 1;
// The lower bytes of time residuals repeat by chance only. Looking for matches takes two thirds of
// their time and makes them larger; Huffman's code alone does what can be done for them.
struct {
  ZSTD_cParameter parameter;
  int value;
} constexpr kHardlyAnyMatches[] = {
    {ZSTD_c_strategy, ZSTD_fast},
    {ZSTD_c_minMatch, 7},
    {ZSTD_c_hashLog, 10},
    {ZSTD_c_targetLength, 64},  // how fast it goes on where nothing matches
    {ZSTD_c_literalCompressionMode, ZSTD_ps_enable},
};
// Below this a column is not worth a compressor's start.
constexpr size_t kSmallColumn = 48;

using Bytes = base::PodVector<uint8_t>;

Column PayloadColumn(int slot) {
  return static_cast<Column>(slot < 3 ? kColumnPayload0 + slot : kColumnPayloadRest);
}

}  // namespace

struct Packer::State {
  ~State() { ZSTD_freeCCtx(context); }

  ZSTD_CCtx* context = nullptr;
  Bytes columns[kColumnCount];
  TickModel ticks;
  TickModel::Walk walk;
  PayloadModel payloads;
  uint64_t events = 0;
  size_t other = 0;  // events that are not kEnd

  bool Begin(size_t words) {
    for (Bytes& column : columns) column.Clear();
    ticks.Reset();
    walk = {};
    payloads.Reset();
    events = 0;
    other = 0;
    bool room = columns[kColumnShape].Resize(words / 8 + 1);
    if (room) memset(columns[kColumnShape].data(), 0, words / 8 + 1);
    for (int c = kColumnCodeLow; c <= kColumnTick2; ++c) room = room && columns[c].Resize(words);
    return room;
  }

  void End() {
    columns[kColumnShape].Shrink((events + 7) / 8);
    columns[kColumnCodeLow].Shrink(other);
    columns[kColumnCodeHigh].Shrink(other);
    for (int c = kColumnTick0; c <= kColumnTick2; ++c) columns[c].Shrink(events);
  }

  bool PutWide(Column column, uint64_t value) {
    Bytes& bytes = columns[column];
    const size_t size = bytes.size();
    if (!bytes.Resize(size + base::kMaxVarintBytes)) return false;
    const uint8_t* end = base::PutVarint(bytes.data() + size, value);
    bytes.Shrink(static_cast<size_t>(end - bytes.data()));
    return true;
  }

  bool PutPayload(uint16_t code, std::span<const uint64_t> payload, uint64_t tick) {
    const int fixed = FixedPayloadWords(code);
    const int count = fixed < 0 ? -fixed : fixed;
    for (int slot = 0; slot < count; ++slot) {
      uint64_t value = payload[slot], near = 0;
      if (payloads.Near(code, slot, payload.data(), tick, &near)) {
        value = base::ZigZag(static_cast<int64_t>(value - near));
      }
      if (!PutWide(PayloadColumn(slot), value)) return false;
    }
    payloads.Learn(code, payload.data());
    const auto tail = payload.subspan(count);
    return columns[kColumnTail].Append(reinterpret_cast<const uint8_t*>(tail.data()),
                                       tail.size_bytes());
  }

  Status PutWords(std::span<const uint64_t> words, TickReader* clock);
  size_t Compress(Column column, uint8_t* out, size_t room);
  bool Store(Column column, Bytes* out);
};

Status Packer::State::PutWords(std::span<const uint64_t> words, TickReader* clock) {
  uint8_t* const shape = columns[kColumnShape].data();
  uint8_t* const low = columns[kColumnCodeLow].data();
  uint8_t* const high = columns[kColumnCodeHigh].data();
  uint8_t* const tick0 = columns[kColumnTick0].data();
  uint8_t* const tick1 = columns[kColumnTick1].data();
  uint8_t* const tick2 = columns[kColumnTick2].data();
  // A store of a byte may change any member, as far as the compiler knows.
  TickModel::Walk at_walk = walk;
  TickReader ticking = *clock;
  size_t n = events, others = other;
  for (size_t at = 0; at < words.size(); ++n) {
    const uint64_t word = RingLoad(words[at]);  // once: what a ring holds may be written on
    const uint16_t code = static_cast<uint16_t>(word & kCodeMask);
    const uint64_t before = ticking.tick();
    const int64_t delta = static_cast<int64_t>(ticking.Next(word) - before);
    uint32_t* expected = ticks.Find(at_walk, code);
    const uint64_t residual = base::ZigZag(delta - int64_t{*expected});
    ticks.Learn(&at_walk, expected, code, delta);
    const uint32_t narrow = residual < 0xffffff ? static_cast<uint32_t>(residual) : 0xffffff;
    tick0[n] = static_cast<uint8_t>(narrow);
    tick1[n] = static_cast<uint8_t>(narrow >> 8);
    tick2[n] = static_cast<uint8_t>(narrow >> 16);
    if (narrow == 0xffffff && !PutWide(kColumnTickWide, residual)) {
      return Status::Limit("no memory to pack events");
    }
    if (code == kEnd) {
      shape[n / 8] |= static_cast<uint8_t>(1 << n % 8);
      ++at;
      continue;
    }
    low[others] = static_cast<uint8_t>(code);
    high[others] = static_cast<uint8_t>(code >> 8);
    ++others;
    if (code >= kFirstNameCode) {
      ++at;
      continue;
    }
    const size_t length = EventLength(word, words, at);
    if (length == 0) return Status::Invalid("words are not whole events");
    if (!PutPayload(code, words.subspan(at + 1, length - 1), ticking.tick())) {
      return Status::Limit("no memory to pack events");
    }
    at += length;
  }
  walk = at_walk;
  *clock = ticking;
  events = n;
  other = others;
  return {};
}

// Bytes written, or zstd's error code.
size_t Packer::State::Compress(Column column, uint8_t* out, size_t room) {
  const Bytes& bytes = columns[column];
  if (column == kColumnTick0 || column == kColumnTick1) {
    return ZSTD_compress2(context, out, room, bytes.data(), bytes.size());
  }
  return ZSTD_compressCCtx(context, out, room, bytes.data(), bytes.size(), kZstdLevel);
}

bool Packer::State::Store(Column which, Bytes* out) {
  const Bytes& column = columns[which];
  const size_t size = column.size();
  const size_t head = out->size();
  if (!out->Resize(head + 1 + 2 * base::kMaxVarintBytes + ZSTD_compressBound(size))) return false;
  ColumnMode mode = kColumnRaw;
  uint8_t* at = base::PutVarint(out->data() + head + 1, size);
  if (size > 1 && memcmp(column.data(), column.data() + 1, size - 1) == 0) {
    mode = kColumnConstant;
    at = base::PutVarint(at, 1);
    *at++ = column[0];
  } else if (size >= kSmallColumn) {
    // Compressed behind room for the longest length, then moved to where it belongs.
    uint8_t* body = at + base::kMaxVarintBytes;
    const size_t packed = Compress(which, body, ZSTD_compressBound(size));
    if (!ZSTD_isError(packed) && packed + packed / 32 < size) {
      mode = kColumnZstd;
      at = base::PutVarint(at, packed);
      memmove(at, body, packed);
      at += packed;
    }
  }
  if (mode == kColumnRaw) {
    at = base::PutVarint(at, size);
    if (size > 0) memcpy(at, column.data(), size);
    at += size;
  }
  (*out)[head] = mode;
  out->Shrink(static_cast<size_t>(at - out->data()));
  return true;
}

Packer::Packer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Packer::~Packer() = default;

std::unique_ptr<Packer> Packer::Create() {
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (state == nullptr) return nullptr;
  state->context = ZSTD_createCCtx();
  if (state->context == nullptr) return nullptr;
  // A zstd that refuses one makes larger columns, never wrong ones.
  for (const auto& [parameter, value] : kHardlyAnyMatches) {
    (void)ZSTD_CCtx_setParameter(state->context, parameter, value);
  }
  return std::unique_ptr<Packer>(new (std::nothrow) Packer(std::move(state)));
}

Status Packer::Pack(std::span<const Piece> pieces, base::PodVector<uint8_t>* out,
                    uint64_t* last_tick) {
  size_t words = 0;
  for (const Piece& piece : pieces) words += piece.words.size();
  if (!state_->Begin(words)) return Status::Limit("no memory to pack events");
  for (const Piece& piece : pieces) {
    TickReader clock(piece.base_tick);
    Status status = state_->PutWords(piece.words, &clock);
    if (!status.ok()) return status;
    *last_tick = clock.tick();
  }
  state_->End();
  for (int column = 0; column < kColumnCount; ++column) {
    if (!state_->Store(static_cast<Column>(column), out)) {
      return Status::Limit("no memory to pack events");
    }
  }
  return {};
}

uint64_t Packer::events() const { return state_->events; }

}  // namespace crosscut::format
