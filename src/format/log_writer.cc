#include "src/format/log_writer.h"

#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "src/base/fault_point.h"
#include "src/base/process.h"
#include "src/base/varint.h"
#include "src/format/layout.h"
#include "src/format/log_reader.h"
#include "src/format/open_stacks.h"
#include "src/format/ring.h"

namespace crosscut::format {
namespace {

// Session words are compressed from this many bytes on.
constexpr size_t kCompressSession = 4096;

struct IndexEntry {
  uint64_t position;
  uint64_t length;
  uint32_t type;
};

template <class T>
std::span<const std::byte> BytesOf(const T& value) {
  return std::as_bytes(std::span<const T>(&value, 1));
}

Status NoMemory() { return Status::Limit("no memory to write the log"); }

// The longest run of whole events in `words` that is no longer than `limit`, or the first event
// alone where that is longer.
size_t Fitting(std::span<const uint64_t> words, size_t limit) {
  size_t fit = 0;
  for (const auto event : EventsOf(words)) {
    if (fit > 0 && fit + event.size() > limit) break;
    fit += event.size();
  }
  return fit;
}

uint64_t TickAfter(std::span<const uint64_t> words, TickReader* clock) {
  for (const auto event : EventsOf(words)) clock->Next(event[0]);
  return clock->tick();
}

// Lets the reader of a log be used on a file that somebody else owns.
class BorrowedFile : public base::File {
 public:
  explicit BorrowedFile(base::File* file) : file_(file) {}
  Status Append(std::span<const std::byte> bytes) override { return file_->Append(bytes); }
  Status Truncate(uint64_t size) override { return file_->Truncate(size); }
  Status Sync() override { return file_->Sync(); }
  Status ReadAt(uint64_t offset, std::span<std::byte> bytes) const override {
    return file_->ReadAt(offset, bytes);
  }
  uint64_t size() const override { return file_->size(); }

 private:
  base::File* file_;
};

}  // namespace

struct LogWriter::State {
  std::unique_ptr<base::File> file;
  std::unique_ptr<Packer> packer;
  ZSTD_CCtx* session_context = nullptr;
  base::PodVector<uint8_t> chunk;  // the chunk being made, its header in front
  base::PodVector<IndexEntry> index;
  base::PodVector<Piece> pieces;
  OpenStacks stacks;
  Status error;
  uint64_t end = 0;  // behind the last whole chunk
  uint64_t event_words = 0;
  bool finished = false;

  ~State() { ZSTD_freeCCtx(session_context); }

  Status Usable() const {
    if (!error.ok()) return error;
    return finished ? Status::Invalid("the log is finished") : Status();
  }
  Status Fail(const Status& status);
  Status WriteHeader(const LogIdentity& identity);
  [[nodiscard]] bool BeginChunk() {
    chunk.Clear();
    return chunk.Resize(kChunkHeaderBytes);
  }
  template <class T>
  [[nodiscard]] bool Put(const T& value) {
    return chunk.Append(reinterpret_cast<const uint8_t*>(&value), sizeof value);
  }
  [[nodiscard]] bool PutVarint(uint64_t value) {
    uint8_t bytes[base::kMaxVarintBytes];
    return chunk.Append(bytes, static_cast<size_t>(base::PutVarint(bytes, value) - bytes));
  }
  Status WriteChunk(ChunkType type);
  Status WriteBytes(std::span<const std::byte> bytes);
  Status WriteSession(const Piece& piece);
  Status WriteEvents(uint32_t* track, std::span<const Piece> batch);
  [[nodiscard]] bool PutEventHead(EventHead* head, std::span<const Piece> batch,
                                  std::span<const uint32_t> open);
  Status WriteIndex(uint64_t* position);
  Status Replay(LogReader* reader);
};

// From here on the log ends behind its last whole chunk, whatever the file system still allows.
// errno stays that of what failed.
Status LogWriter::State::Fail(const Status& status) {
  const int number = errno;
  (void)file->Truncate(end);
  const std::string place = "the log stopped at byte " + std::to_string(end);
  error = status.At(place);
  errno = number;
  return error;
}

Status LogWriter::State::WriteHeader(const LogIdentity& identity) {
  LogHeader header;
  header.nonce = identity.nonce;
  header.pid = identity.pid;
  header.pid_start = identity.pid_start;
  header.start_tick = identity.start_tick;
  header.pid_namespace = identity.pid_namespace;
  header.boot = identity.boot;
  if (identity.pid == getpid() && identity.pid_namespace == 0) {
    const base::ProcessIdentity self = base::ThisProcess();
    header.pid_namespace = self.pid_namespace;
    header.boot = static_cast<uint32_t>(self.boot);
  }
  header.crc = HeaderCrc(header);
  if (Status status = WriteBytes(BytesOf(header)); !status.ok()) return status;
  end = kLogHeaderBytes;
  return {};
}

Status LogWriter::State::WriteBytes(std::span<const std::byte> bytes) {
  if (CROSSCUT_FAULT("log.write.before")) return Fail(Status::Io("injected"));
#ifdef CROSSCUT_FAULT_POINTS
  // In two halves, so that a test can die between them.
  const auto half = bytes.first(bytes.size() / 2);
  if (Status status = file->Append(half); !status.ok()) return Fail(status);
  if (CROSSCUT_FAULT("log.write.half")) return Fail(Status::Io("injected"));
  bytes = bytes.subspan(half.size());
#endif
  if (Status status = file->Append(bytes); !status.ok()) return Fail(status);
  if (CROSSCUT_FAULT("log.write.after")) return Fail(Status::Io("injected"));
  return {};
}

Status LogWriter::State::WriteChunk(ChunkType type) {
  ChunkHeader header;
  header.type = type;
  header.length = chunk.size() - kChunkHeaderBytes;
  header.crc = base::Crc32c(chunk.data() + kChunkHeaderBytes, header.length);
  header.position = end;
  header.header_crc = HeaderCrc(header);
  memcpy(chunk.data(), &header, sizeof header);
  const size_t padded = AlignChunk(chunk.size());
  const size_t size = chunk.size();
  if (!index.Push({end, header.length, type}) || !chunk.Resize(padded)) return NoMemory();
  memset(chunk.data() + size, 0, padded - size);
  Status status = WriteBytes(std::as_bytes(std::span<const uint8_t>(chunk)));
  if (!status.ok()) return status;
  end += padded;
  return {};
}

Status LogWriter::State::WriteSession(const Piece& piece) {
  SessionHead head;
  head.fill = piece.fill;
  head.base_tick = piece.base_tick;
  head.words = piece.words.size();
  head.first_word = piece.first_word;
  head.mode = kColumnRaw;
  const size_t bytes = piece.words.size_bytes();
  const size_t at = kChunkHeaderBytes + sizeof head;
  if (!BeginChunk() || !Put(head)) return NoMemory();
  if (bytes >= kCompressSession && session_context == nullptr) {
    session_context = ZSTD_createCCtx();
  }
  if (bytes >= kCompressSession && session_context != nullptr) {
    const size_t bound = ZSTD_compressBound(bytes);
    if (!chunk.Resize(at + bound)) return NoMemory();
    const size_t packed =
        ZSTD_compressCCtx(session_context, chunk.data() + at, bound, piece.words.data(), bytes, 1);
    if (!ZSTD_isError(packed) && packed < bytes) {
      // The ratio limit holds for session chunks too.
      const size_t size = std::max<size_t>(packed, bytes / kMaxRatio);
      head.mode = kColumnZstd;
      head.first_word = piece.first_word;
      memset(chunk.data() + at + packed, 0, size - packed);
      chunk.Shrink(at + size);
      memcpy(chunk.data() + kChunkHeaderBytes, &head, sizeof head);
      return WriteChunk(kChunkSession);
    }
    chunk.Shrink(at);
  }
  if (!chunk.Append(reinterpret_cast<const uint8_t*>(piece.words.data()), bytes)) {
    return NoMemory();
  }
  return WriteChunk(kChunkSession);
}

bool LogWriter::State::PutEventHead(EventHead* head, std::span<const Piece> batch,
                                    std::span<const uint32_t> open) {
  if (!Put(*head)) return false;
  uint64_t tick = head->first_tick;
  for (const Piece& piece : batch) {
    const uint64_t away = base::ZigZag(static_cast<int64_t>(piece.base_tick - tick));
    if (!PutVarint(piece.fill) || !PutVarint(piece.first_word) || !PutVarint(piece.words.size()) ||
        !PutVarint(away)) {
      return false;
    }
    tick = piece.base_tick;
  }
  for (const uint32_t name : open) {
    if (!PutVarint(name)) return false;
  }
  head->head_bytes = static_cast<uint32_t>(chunk.size() - kChunkHeaderBytes);
  return true;
}

Status LogWriter::State::WriteEvents(uint32_t* track, std::span<const Piece> batch) {
  const std::span<const uint32_t> open = stacks.Open(*track);
  EventHead head;
  head.track = *track;
  for (const Piece& piece : batch) head.words += piece.words.size();
  head.first_tick = batch[0].base_tick;
  head.pieces = static_cast<uint32_t>(batch.size());
  head.open_names = static_cast<uint32_t>(open.size());
  if (!BeginChunk() || !PutEventHead(&head, batch, open)) return NoMemory();
  Status status = packer->Pack(batch, &chunk, &head.last_tick);
  if (!status.ok()) return status;
  head.events = packer->events();
  uint8_t* payload = chunk.data() + kChunkHeaderBytes;
  memcpy(payload, &head, sizeof head);
  head.head_crc = base::Crc32c(payload, head.head_bytes);
  memcpy(payload, &head, sizeof head);
  const size_t least = kChunkHeaderBytes + head.words * 8 / kMaxRatio + 1;
  const size_t size = chunk.size();
  if (size < least) {
    if (!chunk.Resize(least)) return NoMemory();
    memset(chunk.data() + size, 0, least - size);
  }
  status = WriteChunk(kChunkEvents);
  if (!status.ok()) return status;
  event_words += head.words;
  for (const Piece& piece : batch) stacks.Follow(track, piece.words);
  return {};
}

Status LogWriter::State::WriteIndex(uint64_t* position) {
  *position = 0;
  uint64_t chunks = 0;
  if (!BeginChunk() || !Put(chunks)) return NoMemory();
  uint64_t before = 0;
  for (const IndexEntry& entry : index) {
    if (entry.type != kChunkSession && entry.type != kChunkEvents) continue;
    if (!PutVarint(entry.position - before) || !PutVarint(entry.type) || !PutVarint(entry.length)) {
      return NoMemory();
    }
    before = entry.position;
    ++chunks;
  }
  if (chunk.size() > kMaxChunkBytes) return {};
  memcpy(chunk.data() + kChunkHeaderBytes, &chunks, sizeof chunks);
  *position = end;
  return WriteChunk(kChunkIndex);
}

// What Create would know by now had it written the log itself.
Status LogWriter::State::Replay(LogReader* reader) {
  LogBatch batch;
  for (const LogChunk& at : reader->chunks()) {
    if (!index.Push({at.offset, at.bytes, at.type})) return NoMemory();
    if (!reader->Read(at, &batch).ok()) continue;
    if (at.type == kChunkSession) {
      stacks.LearnNames(batch.words);
      continue;
    }
    event_words += batch.words.size();
    uint32_t track = batch.track;
    stacks.Follow(&track, batch.words);
  }
  return {};
}

LogWriter::LogWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
LogWriter::~LogWriter() = default;

Result<std::unique_ptr<LogWriter>> LogWriter::Create(std::unique_ptr<base::File> file,
                                                     const LogIdentity& identity) {
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (state == nullptr) return NoMemory();
  state->file = std::move(file);
  state->packer = Packer::Create();
  if (state->packer == nullptr) return NoMemory();
  if (Status status = state->WriteHeader(identity); !status.ok()) return status;
  return std::unique_ptr<LogWriter>(new LogWriter(std::move(state)));
}

Result<std::unique_ptr<LogWriter>> LogWriter::Repair(std::unique_ptr<base::File> file,
                                                     const LogIdentity& identity,
                                                     RepairReport* report) {
  *report = {};
  if (file->size() < kLogHeaderBytes) {
    report->truncated_bytes = file->size();
    if (Status status = file->Truncate(0); !status.ok()) return status;
    return Create(std::move(file), identity);
  }
  auto reader = LogReader::Open(std::make_unique<BorrowedFile>(file.get()));
  if (!reader.ok()) return reader.status();
  if ((*reader)->identity().nonce != identity.nonce) {
    return Status::Invalid("the log belongs to another session");
  }
  std::unique_ptr<State> state(new (std::nothrow) State);
  if (state == nullptr) return NoMemory();
  state->packer = Packer::Create();
  if (state->packer == nullptr) return NoMemory();
  report->finished = state->finished = (*reader)->complete();
  if (!report->finished) {
    if (Status status = state->Replay(reader->get()); !status.ok()) return status;
  }
  state->end = (*reader)->readable_end();
  if (!report->finished && file->size() > state->end) {
    report->truncated_bytes = file->size() - state->end;
    if (Status status = file->Truncate(state->end); !status.ok()) return status;
  }
  for (const LogDamage& damage : (*reader)->damage()) {
    if (damage.offset < state->end) ++report->damaged_chunks;
  }
  const uint64_t padding = AlignChunk(state->end) - state->end;
  state->file = std::move(file);
  if (padding > 0 && !report->finished) {
    const std::byte zeros[8] = {};
    Status status = state->file->Append(std::span(zeros).first(padding));
    if (!status.ok()) return state->Fail(status);
    state->end += padding;
  }
  return std::unique_ptr<LogWriter>(new LogWriter(std::move(state)));
}

Status LogWriter::AppendSession(const Piece& piece) {
  if (Status status = state_->Usable(); !status.ok()) return status;
  if (!WholeEvents(piece.words)) return Status::Invalid("session words are not whole events");
  Piece rest = piece;
  while (!rest.words.empty()) {
    Piece part = rest;
    part.words = rest.words.first(Fitting(rest.words, kLogBatchWords));
    if (part.words.size() > kMaxBatchWords) return Status::Limit("a session word is too long");
    if (Status status = state_->WriteSession(part); !status.ok()) return status;
    state_->stacks.LearnNames(part.words);
    rest.words = rest.words.subspan(part.words.size());
    rest.first_word += static_cast<uint32_t>(part.words.size());
  }
  return {};
}

Status LogWriter::AppendEvents(uint32_t track, std::span<const Piece> pieces) {
  State& state = *state_;
  if (Status status = state.Usable(); !status.ok()) return status;
  for (const Piece& piece : pieces) {
    if (!WholeEvents(piece.words)) return Status::Invalid("event words are not whole events");
  }
  size_t words = 0;
  state.pieces.Clear();
  auto flush = [&]() -> Status {
    if (state.pieces.empty()) return {};
    Status status = state.WriteEvents(&track, state.pieces);
    state.pieces.Clear();
    words = 0;
    return status;
  };
  for (Piece rest : pieces) {
    while (!rest.words.empty()) {
      if (words + rest.words.size() > kLogBatchWords || state.pieces.size() == kMaxPieces) {
        if (Status status = flush(); !status.ok()) return status;
      }
      Piece part = rest;
      part.words = rest.words.first(Fitting(rest.words, kLogBatchWords));
      if (part.words.size() > kMaxBatchWords) return Status::Limit("an event is too long");
      if (!state.pieces.Push(part)) return NoMemory();
      words += part.words.size();
      rest.words = rest.words.subspan(part.words.size());
      rest.first_word += static_cast<uint32_t>(part.words.size());
      if (rest.words.empty()) break;
      TickReader clock(rest.base_tick);
      rest.base_tick = TickAfter(part.words, &clock);
    }
  }
  return flush();
}

Status LogWriter::Finish() {
  State& state = *state_;
  if (Status status = state.Usable(); !status.ok()) return status;
  EndPayload payload;
  for (const IndexEntry& entry : state.index) {
    payload.chunks += entry.type == kChunkSession || entry.type == kChunkEvents;
  }
  payload.words = state.event_words;
  Status status = state.WriteIndex(&payload.index_position);
  if (!status.ok()) return status;
  if (!state.BeginChunk() || !state.Put(payload)) return NoMemory();
  status = state.WriteChunk(kChunkEnd);
  if (!status.ok()) return status;
  state.finished = true;
  return state.file->Sync();
}

Status LogWriter::Sync() {
  if (!state_->error.ok()) return state_->error;
  return state_->file->Sync();
}

uint64_t LogWriter::bytes() const { return state_->end; }
bool LogWriter::failed() const { return !state_->error.ok(); }
const Status& LogWriter::error() const { return state_->error; }

}  // namespace crosscut::format
