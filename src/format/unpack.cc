#include <zstd.h>

#include <bit>
#include <new>

#include "src/base/varint.h"
#include "src/format/pack.h"
#include "src/format/pack_model.h"
#include "src/format/ring.h"

namespace crosscut::format {
namespace {

using Bytes = base::PodVector<uint8_t>;

Status Broken(const char* what) { return Status::Corrupt(what); }

// Reads varints off one column.
struct VarintColumn {
  const uint8_t* at = nullptr;
  const uint8_t* end = nullptr;
  bool Next(uint64_t* value) {
    const uint8_t* next = base::GetVarint(at, end, value);
    if (next == nullptr) return false;
    at = next;
    return true;
  }
};

struct StoredColumn {
  uint8_t mode = 0;
  uint64_t raw = 0;
  std::span<const uint8_t> body;
};

}  // namespace

struct Unpacker::State {
  ~State() { ZSTD_freeDCtx(context); }

  ZSTD_DCtx* context = nullptr;
  Bytes scratch;
  std::span<const uint8_t> columns[kColumnCount];
  TickModel ticks;
  TickModel::Walk walk;
  PayloadModel payloads;
  // Where the walk over the columns stands.
  size_t event = 0, other = 0, tail = 0;
  VarintColumn wide, payload_columns[4];

  Status ReadColumns(std::span<const uint8_t> in, uint64_t events, uint64_t words);
  Status CheckSizes(const StoredColumn* stored, uint64_t events, uint64_t words);
  Status Expand(const StoredColumn& stored, uint8_t* out);
  Status CheckShape(uint64_t events);
  void Rewind();
  Status GetPiece(TickReader clock, uint64_t events, std::span<uint64_t> out);
  Status GetPayload(uint16_t code, uint64_t tick, std::span<uint64_t> out, size_t* length);
};

namespace {

Status ParseColumn(std::span<const uint8_t>* in, StoredColumn* column) {
  const uint8_t* at = in->data();
  const uint8_t* end = at + in->size();
  if (at == end) return Broken("columns end early");
  column->mode = *at++;
  uint64_t stored = 0;
  at = base::GetVarint(at, end, &column->raw);
  if (at != nullptr) at = base::GetVarint(at, end, &stored);
  if (at == nullptr || stored > static_cast<uint64_t>(end - at)) {
    return Broken("columns end early");
  }
  column->body = {at, static_cast<size_t>(stored)};
  *in = {at + stored, end};
  return {};
}

}  // namespace

// Every size is checked here before anything is allocated for it.
Status Unpacker::State::CheckSizes(const StoredColumn* stored, uint64_t events, uint64_t words) {
  if (events > words) return Broken("more events than words");
  uint64_t loose = 0;
  for (int c = 0; c < kColumnCount; ++c) {
    const StoredColumn& column = stored[c];
    const bool planes = c >= kColumnTick0 && c <= kColumnTick2;
    if (c == kColumnShape && column.raw != (events + 7) / 8) return Broken("shape column's size");
    if (planes && column.raw != events) return Broken("tick column's size");
    if ((c == kColumnCodeLow || c == kColumnCodeHigh) && column.raw > events) {
      return Broken("code column's size");
    }
    if (c >= kColumnTickWide) {
      if (column.raw > words * base::kMaxVarintBytes) return Broken("payload column's size");
      loose += column.raw;
    }
  }
  if (stored[kColumnCodeLow].raw != stored[kColumnCodeHigh].raw) return Broken("code columns");
  if (loose > 2 * words * base::kMaxVarintBytes) return Broken("payload columns' size");
  return {};
}

Status Unpacker::State::Expand(const StoredColumn& stored, uint8_t* out) {
  switch (stored.mode) {
    case kColumnRaw:
      if (stored.body.size() != stored.raw) return Broken("raw column's size");
      if (stored.raw > 0) memcpy(out, stored.body.data(), stored.raw);
      return {};
    case kColumnConstant:
      if (stored.body.size() != 1) return Broken("constant column's size");
      memset(out, stored.body[0], stored.raw);
      return {};
    case kColumnZstd: {
      const size_t n =
          ZSTD_decompressDCtx(context, out, stored.raw, stored.body.data(), stored.body.size());
      if (ZSTD_isError(n) || n != stored.raw) return Broken("compressed column");
      return {};
    }
    default: return Broken("unknown column mode");
  }
}

Status Unpacker::State::CheckShape(uint64_t events) {
  const auto shape = columns[kColumnShape];
  uint64_t ends = 0;
  for (uint8_t byte : shape) ends += static_cast<uint64_t>(std::popcount(byte));
  if (events % 8 != 0 && shape.back() >> events % 8 != 0) return Broken("shape column's end");
  if (columns[kColumnCodeLow].size() != events - ends) return Broken("code column's size");
  return {};
}

Status Unpacker::State::ReadColumns(std::span<const uint8_t> in, uint64_t events, uint64_t words) {
  StoredColumn stored[kColumnCount];
  for (StoredColumn& column : stored) {
    if (Status status = ParseColumn(&in, &column); !status.ok()) return status;
  }
  if (Status status = CheckSizes(stored, events, words); !status.ok()) return status;
  uint64_t total = 0;
  for (const StoredColumn& column : stored) total += column.raw;
  if (!scratch.Resize(total)) return Status::Limit("no memory to unpack events");
  uint8_t* at = scratch.data();
  for (int c = 0; c < kColumnCount; ++c) {
    if (stored[c].raw > 0) {
      if (Status status = Expand(stored[c], at); !status.ok()) return status;
    }
    columns[c] = {at, static_cast<size_t>(stored[c].raw)};
    at += stored[c].raw;
  }
  return CheckShape(events);
}

void Unpacker::State::Rewind() {
  ticks.Reset();
  walk = {};
  payloads.Reset();
  event = other = tail = 0;
  wide = {columns[kColumnTickWide].data(),
          columns[kColumnTickWide].data() + columns[kColumnTickWide].size()};
  for (int i = 0; i < 4; ++i) {
    const auto column = columns[kColumnPayload0 + i];
    payload_columns[i] = {column.data(), column.data() + column.size()};
  }
}

// The payload of an event of `code` into out[1..]; `length` becomes the event's words.
Status Unpacker::State::GetPayload(uint16_t code, uint64_t tick, std::span<uint64_t> out,
                                   size_t* length) {
  const int fixed = FixedPayloadWords(code);
  if (fixed < -3) return Broken("unknown event code");
  const size_t count = static_cast<size_t>(fixed < 0 ? -fixed : fixed);
  if (out.size() - 1 < count) return Broken("more words than announced");
  uint64_t* payload = out.data() + 1;
  for (size_t slot = 0; slot < count; ++slot) {
    uint64_t value = 0, near = 0;
    if (!payload_columns[slot < 3 ? slot : 3].Next(&value)) return Broken("payload ends early");
    if (payloads.Near(code, static_cast<int>(slot), payload, tick, &near)) {
      value = near + static_cast<uint64_t>(base::UnZigZag(value));
    }
    payload[slot] = value;
  }
  payloads.Learn(code, payload);
  *length = 1 + count;
  if (fixed >= 0) return {};
  const uint64_t all = PayloadWords(code, payload);
  if (all > out.size() - 1) return Broken("more words than announced");
  const auto column = columns[kColumnTail];
  const uint64_t bytes = (all - count) * 8;
  if (bytes > column.size() - tail) return Broken("texts end early");
  if (bytes > 0) memcpy(payload + count, column.data() + tail, bytes);
  tail += bytes;
  *length = 1 + all;
  return {};
}

Status Unpacker::State::GetPiece(TickReader clock, uint64_t events, std::span<uint64_t> out) {
  const uint8_t* shape = columns[kColumnShape].data();
  const uint8_t* low = columns[kColumnCodeLow].data();
  const uint8_t* high = columns[kColumnCodeHigh].data();
  const uint8_t* tick0 = columns[kColumnTick0].data();
  const uint8_t* tick1 = columns[kColumnTick1].data();
  const uint8_t* tick2 = columns[kColumnTick2].data();
  uint64_t tick = clock.tick();
  size_t n = event;
  TickModel::Walk at_walk = walk;
  for (size_t at = 0; at < out.size();) {
    if (n == events) return Broken("fewer events than announced");
    uint16_t code = kEnd;
    if ((shape[n / 8] >> n % 8 & 1) == 0) {
      code = static_cast<uint16_t>(low[other] | high[other] << 8);
      ++other;
      if (code == kEnd) return Broken("end outside the shape column");
    }
    uint64_t residual = uint64_t{tick0[n]} | uint64_t{tick1[n]} << 8 | uint64_t{tick2[n]} << 16;
    ++n;
    if (residual == 0xffffff && !wide.Next(&residual)) return Broken("ticks end early");
    uint32_t* expected = ticks.Find(at_walk, code);
    const uint64_t delta = uint64_t{*expected} + static_cast<uint64_t>(base::UnZigZag(residual));
    ticks.Learn(&at_walk, expected, code, static_cast<int64_t>(delta));
    tick += delta;
    out[at] = tick << kCodeBits | code;
    if (code >= kFirstNameCode || code == kEnd) {
      ++at;
      continue;
    }
    size_t length = 0;
    if (Status status = GetPayload(code, tick, out.subspan(at), &length); !status.ok()) {
      return status;
    }
    at += length;
  }
  event = n;
  walk = at_walk;
  return {};
}

Unpacker::Unpacker(std::unique_ptr<State> state) : state_(std::move(state)) {}
Unpacker::~Unpacker() = default;

std::unique_ptr<Unpacker> Unpacker::Create() {
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (state == nullptr) return nullptr;
  state->context = ZSTD_createDCtx();
  if (state->context == nullptr) return nullptr;
  return std::unique_ptr<Unpacker>(new (std::nothrow) Unpacker(std::move(state)));
}

Status Unpacker::Unpack(std::span<const uint8_t> columns, uint64_t events,
                        std::span<const PieceOrigin> pieces, std::span<uint64_t> words) {
  Status status = state_->ReadColumns(columns, events, words.size());
  if (!status.ok()) return status;
  state_->Rewind();
  size_t at = 0;
  for (const PieceOrigin& piece : pieces) {
    if (piece.words > words.size() - at) return Broken("pieces exceed their words");
    status = state_->GetPiece(TickReader(piece.base_tick), events, words.subspan(at, piece.words));
    if (!status.ok()) return status;
    at += piece.words;
  }
  if (at != words.size()) return Broken("pieces do not cover their words");
  if (state_->event != events) return Broken("more events than announced");
  return {};
}

}  // namespace crosscut::format
