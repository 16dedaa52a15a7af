#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "src/base/testing/files.h"
#include "src/format/layout.h"
#include "src/format/log_reader.h"
#include "src/format/log_writer.h"
#include "src/format/test_words.h"

namespace crosscut::format {
namespace {

using testing::RandomEvents;
using testing::ThreadWords;
using testing::Word;
using FileBytes = std::vector<std::byte>;

constexpr LogIdentity kIdentity = {42, 7, 8, 9, 10, 11};

Piece MakePiece(uint64_t fill, uint64_t tick, std::span<const uint64_t> words) {
  Piece piece;
  piece.fill = fill;
  piece.first_word = kRingChunkHeaderWords;
  piece.base_tick = tick;
  piece.words = words;
  return piece;
}

std::vector<uint64_t> NameWords(uint64_t id, Kind kind = kKindSpan) {
  NameAttributes attributes;
  attributes.kind = kind;
  return {Word(1, kName), id, attributes.Pack(), 8, 0x6e616d656e616d65};
}

// A log of some chunks and what each must give back, by the offset of its chunk.
struct Made {
  FileBytes bytes;
  std::map<uint64_t, std::vector<uint64_t>> chunks;
};

Made MakeLog(size_t least_bytes, bool finish) {
  Made made;
  std::mt19937_64 random(3);
  auto writer = std::move(*LogWriter::Create(base::MemoryFile(&made.bytes), kIdentity));
  uint64_t tick = 1000, fill = 1;
  while (made.bytes.size() < least_bytes) {
    const uint64_t base = tick;
    const bool session = fill % 5 == 1;
    const auto words = session ? NameWords(0x100 + fill) : RandomEvents(&random, 1500, &tick);
    made.chunks[writer->bytes()] = words;
    const Piece piece = MakePiece(fill++, base, words);
    const Status status =
        session ? writer->AppendSession(piece) : writer->AppendEvents(3, {&piece, 1});
    EXPECT_TRUE(status.ok()) << status.message();
  }
  if (finish) {
    EXPECT_TRUE(writer->Finish().ok());
  }
  return made;
}

std::unique_ptr<LogReader> OpenBytes(FileBytes* bytes) {
  auto reader = LogReader::Open(base::MemoryFile(bytes));
  return reader.ok() ? std::move(*reader) : nullptr;
}

TEST(Words, EventsEndWhereOneIsNotWhole) {
  std::vector<uint64_t> words = ThreadWords(7, 5);
  words.insert(words.end(), {Word(6, kEnd), Word(7, kCounter), 1, 2});
  std::vector<size_t> lengths;
  for (const auto event : EventsOf(words)) lengths.push_back(event.size());
  EXPECT_EQ(lengths, (std::vector<size_t>{5, 1, 3}));
  EXPECT_TRUE(WholeEvents(words));
  EXPECT_TRUE(WholeEvents({}));
  words.pop_back();
  EXPECT_FALSE(WholeEvents(words));
  words.back() = 0;
  EXPECT_FALSE(WholeEvents(words));
}

TEST(Log, GivesBackWhatWasAppended) {
  for (const bool finish : {false, true}) {
    Made made = MakeLog(100000, finish);
    auto reader = OpenBytes(&made.bytes);
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(reader->complete(), finish);
    EXPECT_EQ(reader->identity().nonce, 42u);
    EXPECT_EQ(reader->identity().boot, 11u);
    ASSERT_EQ(reader->chunks().size(), made.chunks.size());
    LogBatch batch;
    for (const LogChunk& chunk : reader->chunks()) {
      ASSERT_TRUE(reader->Read(chunk, &batch).ok());
      ASSERT_EQ(batch.words, made.chunks.at(chunk.offset));
      ASSERT_EQ(batch.track, chunk.type == kChunkSession ? 0u : 3u);
    }
    EXPECT_TRUE(reader->damage().empty());
  }
}

TEST(Log, IndexAndWalkTellTheSame) {
  Made made = MakeLog(50000, true);
  auto by_index = OpenBytes(&made.bytes);
  FileBytes cut(made.bytes.begin(), made.bytes.end() - 1);
  auto by_walk = OpenBytes(&cut);
  ASSERT_TRUE(by_index != nullptr && by_walk != nullptr);
  EXPECT_FALSE(by_walk->complete());
  ASSERT_EQ(by_index->chunks().size(), by_walk->chunks().size());
  for (size_t i = 0; i < by_walk->chunks().size(); ++i) {
    EXPECT_EQ(by_index->chunks()[i].offset, by_walk->chunks()[i].offset);
    EXPECT_EQ(by_index->chunks()[i].bytes, by_walk->chunks()[i].bytes);
    EXPECT_EQ(by_index->chunks()[i].type, by_walk->chunks()[i].type);
  }
}

// Opens damaged bytes and checks: every chunk found is one that was written and gives back its own
// words or an error; what is missing is reported. Chunks that the damage at [from, to) did not
// touch are the same bytes, so they are not unpacked again.
void CheckDamaged(const Made& made, FileBytes* bytes, uint64_t from, uint64_t to) {
  auto reader = OpenBytes(bytes);
  if (reader == nullptr) {
    ASSERT_LT(from, kLogHeaderBytes);
    return;
  }
  size_t good = 0;
  LogBatch batch;
  for (const LogChunk& chunk : reader->chunks()) {
    const auto original = made.chunks.find(chunk.offset);
    ASSERT_NE(original, made.chunks.end()) << "an invented chunk at " << chunk.offset;
    const bool touched = from < chunk.offset + kChunkHeaderBytes + chunk.bytes && to > chunk.offset;
    if (touched) {
      if (!reader->Read(chunk, &batch).ok()) continue;
      ASSERT_EQ(batch.words, original->second) << "invented words at " << chunk.offset;
    }
    ++good;
  }
  if (good != made.chunks.size()) {
    ASSERT_TRUE(!reader->damage().empty() || !reader->complete());
  }
}

TEST(Log, CutAtEveryByteLosesOnlyTheEndAndSaysSo) {
  const Made made = MakeLog(64 << 10, true);
  FileBytes cut = made.bytes;
  while (!cut.empty()) {
    cut.pop_back();
    CheckDamaged(made, &cut, cut.size(), UINT64_MAX);
    if (HasFatalFailure()) FAIL() << "cut at " << cut.size();
  }
}

TEST(Log, EveryFlippedBitIsNoticedOrHarmless) {
  const Made made = MakeLog(64 << 10, true);
  FileBytes flipped = made.bytes;
  for (size_t byte = 0; byte < flipped.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      flipped[byte] ^= static_cast<std::byte>(1 << bit);
      CheckDamaged(made, &flipped, byte, byte + 1);
      if (HasFatalFailure()) FAIL() << "byte " << byte << " bit " << bit;
      flipped[byte] ^= static_cast<std::byte>(1 << bit);
    }
  }
}

TEST(Log, DamagedEventsAreNamedByTrackAndTime) {
  Made made = MakeLog(20000, false);
  auto whole = OpenBytes(&made.bytes);
  const LogChunk victim = whole->chunks()[1];
  made.bytes[victim.offset + kChunkHeaderBytes + victim.bytes - 1] ^= std::byte{1};
  auto reader = OpenBytes(&made.bytes);
  LogBatch batch;
  EXPECT_EQ(reader->Read(victim, &batch).code(), Status::Code::kCorrupt);
  EXPECT_EQ(reader->Read(victim, &batch).code(), Status::Code::kCorrupt);
  ASSERT_EQ(reader->damage().size(), 1u) << "counted once";
  EXPECT_TRUE(reader->damage()[0].has_events);
  EXPECT_EQ(reader->damage()[0].track, 3u);
  EXPECT_EQ(reader->damage()[0].words, made.chunks.at(victim.offset).size());
}

TEST(Log, SkipsDestroyedHeadersToTheNextChunk) {
  Made made = MakeLog(40000, false);
  const LogChunk victim = OpenBytes(&made.bytes)->chunks()[2];
  for (size_t i = 0; i < 16; ++i) made.bytes[victim.offset + i] = std::byte{0};
  auto reader = OpenBytes(&made.bytes);
  EXPECT_EQ(reader->chunks().size(), made.chunks.size() - 1);
  ASSERT_EQ(reader->damage().size(), 1u);
  EXPECT_EQ(reader->damage()[0].offset, victim.offset);
}

TEST(Log, UnknownChunkTypesAreSkipped) {
  Made made = MakeLog(5000, false);
  const uint64_t at = made.bytes.size();
  ChunkHeader header;
  header.type = 77;
  header.length = 8;
  header.position = at;
  header.crc = base::Crc32c("whatever", 8);
  header.header_crc = HeaderCrc(header);
  made.bytes.resize(at + sizeof header + 8);
  memcpy(made.bytes.data() + at, &header, sizeof header);
  memcpy(made.bytes.data() + at + sizeof header, "whatever", 8);
  auto reader = OpenBytes(&made.bytes);
  EXPECT_EQ(reader->unknown_chunks(), 1u);
  EXPECT_TRUE(reader->damage().empty());
  EXPECT_EQ(reader->chunks().size(), made.chunks.size());
}

TEST(Log, StaysReadableToTheLastChunkWhenTheDiskFillsAtAnyByte) {
  const Made made = MakeLog(30000, true);
  for (const bool no_truncate : {false, true}) {
    for (uint64_t budget = 0; budget < made.bytes.size(); budget += 97) {
      FileBytes bytes;
      auto file = base::FailingFile(base::MemoryFile(&bytes), budget, no_truncate);
      auto writer = LogWriter::Create(std::move(file), kIdentity);
      if (!writer.ok()) {
        ASSERT_LT(budget, kLogHeaderBytes);
        continue;
      }
      Status status;
      for (const auto& [offset, words] : made.chunks) {
        const Piece piece = MakePiece(offset, 1000, words);
        status = words.size() == 5 ? (*writer)->AppendSession(piece)
                                   : (*writer)->AppendEvents(3, {&piece, 1});
        if (!status.ok()) break;
      }
      if (status.ok()) status = (*writer)->Finish();
      ASSERT_FALSE(status.ok());
      ASSERT_TRUE((*writer)->failed());
      ASSERT_NE(status.message().find("byte " + std::to_string((*writer)->bytes())),
                std::string_view::npos);
      ASSERT_FALSE((*writer)->Finish().ok()) << "the first error stays";
      auto reader = OpenBytes(&bytes);
      ASSERT_NE(reader, nullptr);
      // Where even truncation is refused, a chunk that lacks only its padding may stand behind.
      if (no_truncate) {
        ASSERT_GE(reader->readable_end(), (*writer)->bytes());
      } else {
        ASSERT_EQ(reader->readable_end(), (*writer)->bytes());
      }
      LogBatch batch;
      for (const LogChunk& chunk : reader->chunks()) ASSERT_TRUE(reader->Read(chunk, &batch).ok());
    }
  }
}

TEST(Log, FullDeviceIsAnErrorAtByteZero) {
  auto file = base::OpenFile("/dev/full", base::OpenMode::kAppendAnything);
  if (!file.ok()) GTEST_SKIP() << "no /dev/full";
  auto writer = LogWriter::Create(std::move(*file), kIdentity);
  ASSERT_FALSE(writer.ok());
  EXPECT_NE(writer.status().message().find("byte 0"), std::string_view::npos);
}

TEST(Log, RepairGoesOnBehindATornTailAtEveryCut) {
  const Made made = MakeLog(20000, false);
  const auto more = NameWords(0x999);
  for (size_t size = 0; size <= made.bytes.size(); size += size < 200 ? 1 : 37) {
    FileBytes bytes(made.bytes.begin(), made.bytes.begin() + static_cast<long>(size));
    LogWriter::RepairReport report;
    auto writer = LogWriter::Repair(base::MemoryFile(&bytes), kIdentity, &report);
    ASSERT_TRUE(writer.ok()) << size << ": " << writer.status().message();
    const uint64_t end = (*writer)->bytes();
    const bool headless = size < kLogHeaderBytes;
    ASSERT_EQ(report.truncated_bytes, headless ? size : size > end ? size - end : 0) << size;
    ASSERT_FALSE(report.finished);
    ASSERT_EQ(report.damaged_chunks, 0);
    ASSERT_EQ(bytes.size(), end);
    ASSERT_TRUE((*writer)->AppendSession(MakePiece(999, 1, more)).ok());
    ASSERT_TRUE((*writer)->Finish().ok());
    auto reader = OpenBytes(&bytes);
    ASSERT_TRUE(reader != nullptr && reader->complete() && reader->damage().empty()) << size;
    LogBatch batch;
    for (const LogChunk& chunk : reader->chunks()) {
      ASSERT_TRUE(reader->Read(chunk, &batch).ok());
      ASSERT_EQ(batch.words, chunk.offset == end ? more : made.chunks.at(chunk.offset));
    }
  }
}

TEST(Log, RepairLeavesDamageInPlaceAndCountsIt) {
  Made made = MakeLog(40000, false);
  auto whole = OpenBytes(&made.bytes);
  const LogChunk torn = whole->chunks()[1], headless = whole->chunks()[2];
  made.bytes[headless.offset] ^= std::byte{1};
  made.bytes[torn.offset + kChunkHeaderBytes + torn.bytes - 1] ^= std::byte{1};
  const size_t before = made.bytes.size();
  LogWriter::RepairReport report;
  auto writer = LogWriter::Repair(base::MemoryFile(&made.bytes), kIdentity, &report);
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  EXPECT_EQ(report.damaged_chunks, 2);
  EXPECT_EQ(report.truncated_bytes, 0);
  EXPECT_EQ(made.bytes.size(), before);
  ASSERT_TRUE((*writer)->Finish().ok());
  EXPECT_EQ(OpenBytes(&made.bytes)->chunks().size(), made.chunks.size() - 1);
}

TEST(Log, RepairLeavesAFinishedLogAndRefusesAStrangersLog) {
  Made made = MakeLog(10000, true);
  const FileBytes before = made.bytes;
  LogWriter::RepairReport report;
  auto writer = LogWriter::Repair(base::MemoryFile(&made.bytes), kIdentity, &report);
  ASSERT_TRUE(writer.ok());
  EXPECT_TRUE(report.finished);
  EXPECT_FALSE((*writer)->Finish().ok());
  EXPECT_EQ(made.bytes, before);
  LogIdentity other = kIdentity;
  other.nonce = 43;
  EXPECT_EQ(LogWriter::Repair(base::MemoryFile(&made.bytes), other, &report).status().code(),
            Status::Code::kInvalid);
  EXPECT_EQ(made.bytes, before);
}

TEST(Log, NamesTheSpansOpenAtTheStartOfEachChunk) {
  FileBytes bytes;
  auto writer = std::move(*LogWriter::Create(base::MemoryFile(&bytes), kIdentity));
  ASSERT_TRUE(writer->AppendSession(MakePiece(1, 1, NameWords(0x150, kKindStep))).ok());
  std::vector<uint64_t> first = ThreadWords(5, 10);
  for (const uint64_t code : {0x100, 0x150, 0x101, 0x102, static_cast<int>(kEnd)}) {
    first.push_back(Word(20, code));
  }
  first.insert(first.end(), {Word(21, kBeginWide), 70000});
  Piece piece = MakePiece(2, 10, first);
  ASSERT_TRUE(writer->AppendEvents(5, {&piece, 1}).ok());
  const std::vector<uint64_t> second = {Word(30, kEndNamed), 0x101};
  piece = MakePiece(3, 30, second);
  ASSERT_TRUE(writer->AppendEvents(5, {&piece, 1}).ok());
  writer.reset();
  LogWriter::RepairReport report;
  writer = std::move(*LogWriter::Repair(base::MemoryFile(&bytes), kIdentity, &report));
  ASSERT_TRUE(writer->AppendEvents(5, {&piece, 1}).ok());
  auto reader = OpenBytes(&bytes);
  LogBatch batch;
  ASSERT_TRUE(reader->Read(reader->chunks()[2], &batch).ok());
  EXPECT_EQ(batch.open_names, (std::vector<uint32_t>{0x100, 0x101, 70000}));
  ASSERT_TRUE(reader->Read(reader->chunks()[3], &batch).ok());
  EXPECT_EQ(batch.open_names, std::vector<uint32_t>{0x100}) << "after a repair";
}

TEST(Log, OpenOperationsOutliveTheSpansThatTheyBeganIn) {
  FileBytes bytes;
  auto writer = std::move(*LogWriter::Create(base::MemoryFile(&bytes), kIdentity));
  ASSERT_TRUE(writer->AppendSession(MakePiece(1, 1, NameWords(0x150, kKindOperation))).ok());
  std::vector<uint64_t> first = ThreadWords(5, 10);
  for (const uint64_t code : {0x100, 0x101, 0x150, static_cast<int>(kEnd), 0x102}) {
    first.push_back(Word(20, code));
  }
  Piece piece = MakePiece(2, 10, first);
  ASSERT_TRUE(writer->AppendEvents(5, {&piece, 1}).ok());
  const std::vector<uint64_t> second = {Word(30, kEndNamed), 0x100};
  piece = MakePiece(3, 30, second);
  ASSERT_TRUE(writer->AppendEvents(5, {&piece, 1}).ok());
  ASSERT_TRUE(writer->AppendEvents(5, {&piece, 1}).ok());
  auto reader = OpenBytes(&bytes);
  LogBatch batch;
  ASSERT_TRUE(reader->Read(reader->chunks()[2], &batch).ok());
  EXPECT_EQ(batch.open_names, (std::vector<uint32_t>{0x100, 0x150, 0x102}));
  ASSERT_TRUE(reader->Read(reader->chunks()[3], &batch).ok());
  EXPECT_EQ(batch.open_names, std::vector<uint32_t>{0x150});
}

TEST(Log, FramesThatRunNoMoreAreNotOpenWhereOthersAreToldToRun) {
  FileBytes bytes;
  auto writer = std::move(*LogWriter::Create(base::MemoryFile(&bytes), kIdentity));
  std::vector<uint64_t> names;
  for (const uint64_t id : {0x150, 0x151}) {
    names.insert(names.end(), {Word(1, kName), id, NameAttributes{.flags = kFlagFrame}.Pack(), 0});
  }
  ASSERT_TRUE(writer->AppendSession(MakePiece(1, 1, names)).ok());
  std::vector<uint64_t> first = ThreadWords(5, 10);
  for (const uint64_t code : {0x150, 0x100, 0x151}) first.push_back(Word(20, code));
  first.insert(first.end(), {Word(30, kRunning), 0x151 | uint64_t{1} << 32});
  first.insert(first.end(), {Word(30, kRunning), 0x100 | kRunningBegun});
  Piece piece = MakePiece(2, 10, first);
  ASSERT_TRUE(writer->AppendEvents(5, {&piece, 1}).ok());
  const std::vector<uint64_t> second = {Word(40, kEnd)};
  piece = MakePiece(3, 40, second);
  ASSERT_TRUE(writer->AppendEvents(5, {&piece, 1}).ok());
  auto reader = OpenBytes(&bytes);
  LogBatch batch;
  ASSERT_TRUE(reader->Read(reader->chunks()[2], &batch).ok());
  EXPECT_EQ(batch.open_names, (std::vector<uint32_t>{0x151, 0x100}));
}

TEST(Log, SplitsLongAppendsAtEvents) {
  FileBytes bytes;
  auto writer = std::move(*LogWriter::Create(base::MemoryFile(&bytes), kIdentity));
  std::mt19937_64 random(4);
  uint64_t tick = 50;
  const auto words = RandomEvents(&random, 2 * kLogBatchWords, &tick);
  Piece piece = MakePiece(0, 50, words);
  ASSERT_TRUE(writer->AppendEvents(1, {&piece, 1}).ok());
  auto reader = OpenBytes(&bytes);
  EXPECT_GT(reader->chunks().size(), 2u);
  std::vector<uint64_t> all;
  LogBatch batch;
  for (const LogChunk& chunk : reader->chunks()) {
    ASSERT_TRUE(reader->Read(chunk, &batch).ok());
    TickReader clock(batch.pieces[0].base_tick);
    all.insert(all.end(), batch.words.begin(), batch.words.end());
  }
  EXPECT_EQ(all, words);
}

TEST(Log, MonotonousWordsStayUnderTheRatioLimit) {
  FileBytes bytes;
  auto writer = std::move(*LogWriter::Create(base::MemoryFile(&bytes), kIdentity));
  std::vector<uint64_t> words;
  for (uint64_t i = 0; i < kLogBatchWords; ++i) words.push_back(Word(i, i % 2 ? kEnd : 0x100));
  Piece piece = MakePiece(0, 0, words);
  ASSERT_TRUE(writer->AppendEvents(1, {&piece, 1}).ok());
  EXPECT_GT(bytes.size(), words.size() * 8 / kMaxRatio);
  LogBatch batch;
  auto reader = OpenBytes(&bytes);
  ASSERT_TRUE(reader->Read(reader->chunks()[0], &batch).ok());
  EXPECT_EQ(batch.words, words);
}

TEST(Log, RefusesHalfEventsAndWritesNothing) {
  FileBytes bytes;
  auto writer = std::move(*LogWriter::Create(base::MemoryFile(&bytes), kIdentity));
  const std::vector<uint64_t> words = {Word(1, 0x100), Word(2, kCounter), 5};
  const Piece piece = MakePiece(1, 1, words);
  EXPECT_EQ(writer->AppendEvents(1, {&piece, 1}).code(), Status::Code::kInvalid);
  EXPECT_EQ(writer->AppendSession(piece).code(), Status::Code::kInvalid);
  EXPECT_EQ(bytes.size(), kLogHeaderBytes);
  EXPECT_FALSE(writer->failed());
}

TEST(Log, AHeaderAtTheVeryEndIsWhole) {
  Made made = MakeLog(5000, false);
  const uint64_t at = made.bytes.size();
  ChunkHeader header;
  header.type = 77;
  header.length = 0;
  header.position = at;
  header.crc = base::Crc32c("", 0);
  header.header_crc = HeaderCrc(header);
  made.bytes.resize(at + sizeof header);
  memcpy(made.bytes.data() + at, &header, sizeof header);
  auto reader = OpenBytes(&made.bytes);
  EXPECT_EQ(reader->unknown_chunks(), 1u);
  EXPECT_TRUE(reader->damage().empty());
  for (size_t i = 0; i < 16; ++i) made.bytes[at - 8 + i] ^= std::byte{1};  // and what is none
  EXPECT_EQ(OpenBytes(&made.bytes)->unknown_chunks(), 0u);
}

// A search for the next header behind damage looks at the file's last bytes, too.
TEST(Log, AHeaderAtTheVeryEndIsFoundBehindDamage) {
  for (const size_t damaged : {8u, 16u, 64u, 4096u, 65536u, 65544u}) {
    Made made = MakeLog(5000, false);
    const uint64_t from = made.bytes.size(), at = from + damaged;
    ChunkHeader header;
    header.type = 77;
    header.length = 0;
    header.position = at;
    header.crc = base::Crc32c("", 0);
    header.header_crc = HeaderCrc(header);
    made.bytes.resize(at + sizeof header);
    memcpy(made.bytes.data() + at, &header, sizeof header);
    auto reader = OpenBytes(&made.bytes);
    EXPECT_EQ(reader->unknown_chunks(), 1u) << damaged;
    ASSERT_EQ(reader->damage().size(), 1u) << damaged;
    EXPECT_EQ(reader->damage()[0].offset, from);
    EXPECT_EQ(reader->damage()[0].bytes, damaged);
  }
}

}  // namespace
}  // namespace crosscut::format
