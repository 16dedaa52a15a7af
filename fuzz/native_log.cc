// Feeds arbitrary bytes to the log reader as a file: opens it, unpacks every chunk, repairs a copy.
// What is read must consist of whole events, and a repaired log must open without a torn tail.
#include <cstdlib>

#include "src/base/file.h"
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(first, first + size);
  ReadAll(&bytes);
  LogIdentity identity;
  identity.nonce = 42;
  LogWriter::RepairReport report;
  auto writer = LogWriter::Repair(MemoryFile(&bytes), identity, &report);
  if (!writer.ok() || report.finished) return 0;
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
  return 0;
}
