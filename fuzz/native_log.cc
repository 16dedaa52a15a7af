// Feeds arbitrary bytes to the log reader as a file: opens it, unpacks every chunk, repairs a copy.
// What is read must consist of whole events, and a repaired log must open without a torn tail. Each
// input is tried as it is and with its checksums put right, so that what they guard is reached.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "src/base/testing/files.h"
#include "src/format/layout.h"
#include "src/format/log_reader.h"
#include "src/format/log_writer.h"
#include "src/format/ring.h"

namespace {

using crosscut::base::MemoryFile;
using namespace crosscut::format;

void Require(bool condition) {
  if (!condition) abort();
}

void ReadAll(std::vector<std::byte>* bytes) {
  auto reader = LogReader::Open(MemoryFile(bytes));
  if (!reader.ok()) return;
  LogBatch batch;
  uint64_t words = 0;
  for (const LogChunk& chunk : (*reader)->chunks()) {
    if (!(*reader)->Read(chunk, &batch).ok()) continue;
    for (size_t at = 0; at < batch.words.size();) {
      const size_t length = EventLength(batch.words, at);
      Require(length > 0);
      at += length;
    }
    words += batch.words.size();
  }
  Require(words <= bytes->size() * 64 + 4096 * (*reader)->chunks().size());
}

void MendEventHead(std::byte* payload, uint64_t bytes) {
  EventHead head;
  if (bytes < sizeof head) return;
  memcpy(&head, payload, sizeof head);
  head.head_bytes = std::clamp<uint64_t>(head.head_bytes, sizeof head, bytes);
  head.head_crc = 0;
  memcpy(payload, &head, sizeof head);
  head.head_crc = crosscut::base::Crc32c(payload, head.head_bytes);
  memcpy(payload, &head, sizeof head);
}

void Mend(std::vector<std::byte>* bytes) {
  LogHeader log;
  if (bytes->size() < sizeof log) return;
  memcpy(&log, bytes->data(), sizeof log);
  log.magic = kLogMagic;
  log.version = kFormatVersion;
  log.header_bytes = kLogHeaderBytes;
  log.nonce = 42;
  log.crc = HeaderCrc(log);
  memcpy(bytes->data(), &log, sizeof log);
  uint64_t at = sizeof log;
  ChunkHeader header;
  while (at + sizeof header <= bytes->size()) {
    memcpy(&header, bytes->data() + at, sizeof header);
    const uint64_t room = bytes->size() - at - sizeof header;
    header.magic = kChunkMagic;
    header.length = std::min(header.length, room);
    header.position = at;
    std::byte* payload = bytes->data() + at + sizeof header;
    if (header.type == kChunkEvents) MendEventHead(payload, header.length);
    header.crc = crosscut::base::Crc32c(payload, header.length);
    header.header_crc = HeaderCrc(header);
    memcpy(bytes->data() + at, &header, sizeof header);
    at = AlignChunk(at + sizeof header + header.length);
  }
}

void Try(std::vector<std::byte> bytes) {
  ReadAll(&bytes);
  LogIdentity identity;
  identity.nonce = 42;
  LogWriter::RepairReport report;
  auto writer = LogWriter::Repair(MemoryFile(&bytes), identity, &report);
  if (!writer.ok() || report.finished) return;
  const uint64_t words[] = {uint64_t{5} << 16 | 0x100};
  const Piece piece = {1, 8, 5, words};
  Require((*writer)->AppendEvents(1, {&piece, 1}).ok());
  Require((*writer)->Finish().ok());
  auto reader = LogReader::Open(MemoryFile(&bytes));
  Require(reader.ok() && (*reader)->complete());
  LogBatch batch;
  Require(!(*reader)->chunks().empty());
  Require((*reader)->Read((*reader)->chunks().back(), &batch).ok());
  Require(batch.words.size() == 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(first, first + size);
  Try(bytes);
  Mend(&bytes);
  Try(std::move(bytes));
  return 0;
}
