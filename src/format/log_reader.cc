#include "src/format/log_reader.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "src/base/varint.h"
#include "src/format/layout.h"
#include "src/format/ring.h"
#include "src/format/run_json.h"

namespace crosscut::format {
namespace {

constexpr size_t kScanBlock = 64 << 10;

template <class T>
std::span<std::byte> Into(T* value) {
  return std::as_writable_bytes(std::span<T>(value, 1));
}

bool ValidHeader(const ChunkHeader& header, uint64_t position) {
  return header.magic == kChunkMagic && header.position == position &&
         header.length <= kMaxChunkBytes && header.header_crc == HeaderCrc(header);
}

// The head of an event chunk with its lists. Fails where its own checksum or grammar does.
bool ParseEventHead(std::span<const uint8_t> payload, EventHead* head, LogBatch* batch) {
  if (payload.size() < sizeof *head) return false;
  memcpy(head, payload.data(), sizeof *head);
  if (head->head_bytes < sizeof *head || head->head_bytes > payload.size()) return false;
  EventHead blank = *head;
  blank.head_crc = 0;
  const uint32_t crc = base::Crc32c(payload.data() + sizeof *head, head->head_bytes - sizeof *head,
                                    base::Crc32c(&blank, sizeof blank));
  if (crc != head->head_crc) return false;
  if (head->words > kMaxBatchWords || head->events > head->words) return false;
  if (head->pieces > kMaxPieces || head->open_names > kMaxOpenNames) return false;
  const uint8_t* at = payload.data() + sizeof *head;
  const uint8_t* end = payload.data() + head->head_bytes;
  uint64_t tick = head->first_tick, words = 0;
  batch->pieces.clear();
  for (uint32_t i = 0; i < head->pieces; ++i) {
    uint64_t fill = 0, first = 0, count = 0, away = 0;
    for (uint64_t* value : {&fill, &first, &count, &away}) {
      at = base::GetVarint(at, end, value);
      if (at == nullptr) return false;
    }
    if (first > UINT32_MAX || count > head->words - words) return false;
    tick += static_cast<uint64_t>(base::UnZigZag(away));
    words += count;
    batch->pieces.push_back(
        {fill, static_cast<uint32_t>(first), static_cast<uint32_t>(count), tick});
  }
  batch->open_names.clear();
  for (uint32_t i = 0; i < head->open_names; ++i) {
    uint64_t name = 0;
    at = base::GetVarint(at, end, &name);
    if (at == nullptr || name > UINT32_MAX) return false;
    batch->open_names.push_back(static_cast<uint32_t>(name));
  }
  batch->track = head->track;
  return words == head->words && at == end;
}

}  // namespace

struct LogReader::State {
  ~State() { ZSTD_freeDCtx(session_context); }

  std::unique_ptr<base::File> file;  // null: it rests
  std::string path;                  // "" not known
  uint64_t size = 0;
  LogIdentity identity;
  std::vector<LogChunk> chunks;
  std::vector<LogDamage> damage;
  std::unique_ptr<Unpacker> unpacker;
  ZSTD_DCtx* session_context = nullptr;
  std::vector<uint8_t> payload;
  bool complete = false;
  uint64_t unknown = 0;
  uint64_t readable_end = kLogHeaderBytes;

  Status ReadLogHeader();
  void Walk();
  bool UseIndex();
  bool ParseIndex(uint64_t position, const EndPayload& end);
  void TakeChunk(const ChunkHeader& header, uint64_t position);
  uint64_t FindHeader(uint64_t from);
  void AddDamage(uint64_t offset, uint64_t bytes, const char* reason);
  Status LoadPayload(const LogChunk& chunk);
  Status ReadSession(LogBatch* batch);
  Status ReadEvents(LogBatch* batch);
};

void LogReader::State::AddDamage(uint64_t offset, uint64_t bytes, const char* reason) {
  const auto at =
      std::lower_bound(damage.begin(), damage.end(), offset,
                       [](const LogDamage& entry, uint64_t value) { return entry.offset < value; });
  if (at != damage.end() && at->offset == offset) return;
  LogDamage entry;
  entry.offset = offset;
  entry.bytes = bytes;
  entry.reason = reason;
  ChunkHeader header;
  if (bytes > sizeof header && file->ReadAt(offset, Into(&header)).ok() &&
      ValidHeader(header, offset) && header.type == kChunkEvents) {
    EventHead head;
    LogBatch lists;
    const uint64_t room = std::min(bytes - sizeof header, header.length);
    std::vector<uint8_t> start(std::min<uint64_t>(room, kScanBlock));
    if (file->ReadAt(offset + sizeof header, std::as_writable_bytes(std::span(start))).ok() &&
        ParseEventHead(start, &head, &lists)) {
      entry.has_events = true;
      entry.track = head.track;
      entry.words = head.words;
      entry.first_tick = head.first_tick;
      entry.last_tick = head.last_tick;
    }
  }
  damage.insert(at, std::move(entry));
}

Status LogReader::State::ReadLogHeader() {
  LogHeader header;
  if (size < sizeof header) return Status::Corrupt("shorter than a log's header");
  if (Status status = file->ReadAt(0, Into(&header)); !status.ok()) return status;
  if (header.magic != kLogMagic) return Status::Corrupt("not a crosscut log");
  if (header.crc != HeaderCrc(header)) return Status::Corrupt("log header: checksum differs");
  if (header.version != kFormatVersion || header.header_bytes != kLogHeaderBytes) {
    return Status::Unsupported(NewerFormat(header.version));
  }
  identity = {header.nonce,      header.pid,           header.pid_start,
              header.start_tick, header.pid_namespace, header.boot};
  return {};
}

// The first place at or behind `from` where a chunk header stands; `size` if there is none.
uint64_t LogReader::State::FindHeader(uint64_t from) {
  std::vector<uint8_t> block(kScanBlock + sizeof(ChunkHeader));
  for (uint64_t base = AlignChunk(from); base + sizeof(ChunkHeader) <= size; base += kScanBlock) {
    const size_t n = std::min<uint64_t>(block.size(), size - base);
    if (!file->ReadAt(base, std::as_writable_bytes(std::span(block).first(n))).ok()) return size;
    for (size_t at = 0; at + sizeof(ChunkHeader) <= n && at < kScanBlock; at += 8) {
      ChunkHeader header;
      memcpy(&header, block.data() + at, sizeof header);
      if (header.magic == kChunkMagic && ValidHeader(header, base + at)) return base + at;
    }
  }
  return size;
}

void LogReader::State::TakeChunk(const ChunkHeader& header, uint64_t position) {
  switch (header.type) {
    case kChunkSession:
    case kChunkEvents:
      chunks.push_back({position, header.length, static_cast<ChunkType>(header.type)});
      break;
    case kChunkIndex: break;
    case kChunkEnd: complete = true; break;
    default: ++unknown; break;
  }
}

void LogReader::State::Walk() {
  uint64_t at = kLogHeaderBytes;
  while (at < size && !complete) {
    ChunkHeader header;
    if (size - at < sizeof header) {
      AddDamage(at, size - at, "cut off");
      return;
    }
    if (!file->ReadAt(at, Into(&header)).ok()) {
      AddDamage(at, size - at, "cannot be read");
      return;
    }
    if (!ValidHeader(header, at)) {
      const uint64_t next = FindHeader(at + 8);
      AddDamage(at, next - at, "no chunk header");
      at = next;
      continue;
    }
    const uint64_t end = at + sizeof header + header.length;
    if (end > size) {
      AddDamage(at, size - at, "cut off");
      return;
    }
    TakeChunk(header, at);
    at = AlignChunk(end);
    readable_end = std::min(at, size);
  }
  if (at < size) AddDamage(at, size - at, "bytes after the end chunk");
}

bool LogReader::State::ParseIndex(uint64_t position, const EndPayload& end) {
  ChunkHeader header;
  if (position > size || size - position < sizeof header) return false;
  if (!file->ReadAt(position, Into(&header)).ok() || !ValidHeader(header, position)) return false;
  if (header.type != kChunkIndex || header.length < sizeof(uint64_t)) return false;
  if (header.length > size - position - sizeof header) return false;
  payload.resize(header.length);
  const auto bytes = std::as_writable_bytes(std::span(payload));
  if (!file->ReadAt(position + sizeof header, bytes).ok()) return false;
  if (base::Crc32c(payload.data(), payload.size()) != header.crc) return false;
  uint64_t count = 0;
  memcpy(&count, payload.data(), sizeof count);
  if (count != end.chunks) return false;
  const uint8_t* from = payload.data() + sizeof count;
  const uint8_t* to = payload.data() + payload.size();
  uint64_t at = 0, least = kLogHeaderBytes;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t step = 0, type = 0, length = 0;
    for (uint64_t* value : {&step, &type, &length}) {
      from = base::GetVarint(from, to, value);
      if (from == nullptr) return false;
    }
    if (step > position || at + step < least || length > kMaxChunkBytes) return false;
    at += step;
    least = AlignChunk(at + sizeof header + length);
    if (least > position || (type != kChunkSession && type != kChunkEvents)) return false;
    chunks.push_back({at, length, static_cast<ChunkType>(type)});
  }
  return from == to;
}

// A finished log ends in a chunk of known size that names the index.
bool LogReader::State::UseIndex() {
  constexpr uint64_t kTail = sizeof(ChunkHeader) + sizeof(EndPayload);
  if (size < kLogHeaderBytes + kTail) return false;
  ChunkHeader header;
  EndPayload end;
  const uint64_t position = size - kTail;
  if (!file->ReadAt(position, Into(&header)).ok() || !ValidHeader(header, position)) return false;
  if (header.type != kChunkEnd || header.length != sizeof end) return false;
  if (!file->ReadAt(position + sizeof header, Into(&end)).ok()) return false;
  if (base::Crc32c(&end, sizeof end) != header.crc || end.index_position == 0) return false;
  if (!ParseIndex(end.index_position, end)) {
    chunks.clear();
    return false;
  }
  complete = true;
  readable_end = size;
  return true;
}

Status LogReader::State::LoadPayload(const LogChunk& chunk) {
  ChunkHeader header;
  Status status = file->ReadAt(chunk.offset, Into(&header));
  if (!status.ok()) return status;
  if (!ValidHeader(header, chunk.offset) || header.length != chunk.bytes ||
      header.type != chunk.type) {
    return Status::Corrupt("no chunk header");
  }
  payload.resize(chunk.bytes);
  const auto bytes = std::as_writable_bytes(std::span(payload));
  status = file->ReadAt(chunk.offset + sizeof header, bytes);
  if (!status.ok()) return status;
  if (base::Crc32c(payload.data(), payload.size()) != header.crc) {
    return Status::Corrupt("checksum differs");
  }
  return {};
}

Status LogReader::State::ReadSession(LogBatch* batch) {
  SessionHead head;
  if (payload.size() < sizeof head) return Status::Corrupt("session head");
  memcpy(&head, payload.data(), sizeof head);
  const std::span<const uint8_t> body = std::span<const uint8_t>(payload).subspan(sizeof head);
  const uint64_t bytes = head.words * 8;
  if (head.words > kMaxBatchWords || head.words > body.size() * (kMaxRatio / 8) + kMaxRatio) {
    return Status::Corrupt("session words");
  }
  batch->words.resize(head.words);
  if (head.mode == kColumnRaw) {
    if (body.size() != bytes) return Status::Corrupt("session words");
    if (bytes > 0) memcpy(batch->words.data(), body.data(), bytes);
  } else if (head.mode == kColumnZstd) {
    if (session_context == nullptr) session_context = ZSTD_createDCtx();
    const size_t frame = ZSTD_findFrameCompressedSize(body.data(), body.size());
    if (ZSTD_isError(frame)) return Status::Corrupt("session words");
    const size_t n =
        ZSTD_decompressDCtx(session_context, batch->words.data(), bytes, body.data(), frame);
    if (ZSTD_isError(n) || n != bytes) return Status::Corrupt("session words");
  } else {
    return Status::Corrupt("session mode");
  }
  if (!WholeEvents(batch->words)) return Status::Corrupt("session words are not whole");
  batch->pieces = {{head.fill, head.first_word, static_cast<uint32_t>(head.words), head.base_tick}};
  return {};
}

Status LogReader::State::ReadEvents(LogBatch* batch) {
  EventHead head;
  if (!ParseEventHead(payload, &head, batch)) return Status::Corrupt("event head");
  if (head.words > payload.size() * (kMaxRatio / 8) + kMaxRatio) {
    return Status::Corrupt("more words than the chunk can hold");
  }
  if (unpacker == nullptr) unpacker = Unpacker::Create();
  if (unpacker == nullptr) return Status::Limit("no memory to unpack events");
  batch->words.resize(head.words);
  const auto columns = std::span<const uint8_t>(payload).subspan(head.head_bytes);
  return unpacker->Unpack(columns, head.events, batch->pieces, batch->words);
}

LogReader::LogReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
LogReader::~LogReader() = default;

Result<std::unique_ptr<LogReader>> LogReader::Open(const std::string& path) {
  auto file = base::OpenFile(path, base::OpenMode::kRead);
  if (!file.ok()) return file.status();
  auto reader = Open(std::move(*file));
  if (!reader.ok()) return reader.status().At(path);
  (*reader)->state_->path = path;
  return reader;
}

Result<std::unique_ptr<LogReader>> LogReader::Open(std::unique_ptr<base::File> file) {
  auto state = std::make_unique<State>();
  state->size = file->size();
  state->file = std::move(file);
  if (Status status = state->ReadLogHeader(); !status.ok()) return status;
  if (!state->UseIndex()) state->Walk();
  return std::unique_ptr<LogReader>(new LogReader(std::move(state)));
}

const LogIdentity& LogReader::identity() const { return state_->identity; }
const std::vector<LogChunk>& LogReader::chunks() const { return state_->chunks; }
const std::vector<LogDamage>& LogReader::damage() const { return state_->damage; }
bool LogReader::complete() const { return state_->complete; }
uint64_t LogReader::unknown_chunks() const { return state_->unknown; }
uint64_t LogReader::readable_end() const { return state_->readable_end; }
uint64_t LogReader::size() const { return state_->size; }

void LogReader::Rest() {
  if (state_->path.empty()) return;
  state_->file.reset();
  state_->unpacker.reset();
  ZSTD_freeDCtx(state_->session_context);
  state_->session_context = nullptr;
  state_->payload = {};
}

Status LogReader::Read(const LogChunk& chunk, LogBatch* batch) {
  if (state_->file == nullptr) {
    auto file = base::OpenFile(state_->path, base::OpenMode::kRead);
    if (!file.ok()) return file.status();
    state_->file = std::move(*file);
  }
  batch->track = 0;
  batch->pieces.clear();
  batch->open_names.clear();
  batch->words.clear();
  Status status = state_->LoadPayload(chunk);
  if (status.ok()) {
    status = chunk.type == kChunkSession ? state_->ReadSession(batch) : state_->ReadEvents(batch);
  }
  if (status.ok() || status.code() == Status::Code::kLimit) return status;
  batch->pieces.clear();
  batch->words.clear();
  const std::string reason(status.message());
  state_->AddDamage(chunk.offset, sizeof(ChunkHeader) + chunk.bytes, reason.c_str());
  return Status::Corrupt("chunk at byte " + std::to_string(chunk.offset) + ": " + reason);
}

}  // namespace crosscut::format
