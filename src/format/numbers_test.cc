// Version 1 in numbers, as docs/format.md and the logs that exist have them: none is derived from
// the constants that the code goes by.
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <random>

#include "src/base/crc32c.h"
#include "src/base/testing/files.h"
#include "src/base/varint.h"
#include "src/format/layout.h"
#include "src/format/log_writer.h"
#include "src/format/pack.h"
#include "src/format/requests.h"
#include "src/format/ring.h"
#include "src/format/test_words.h"

namespace crosscut::format {
namespace {

constexpr struct {
  uint64_t code, number;
  int payload;
} kCodes[] = {
    {kEnd, 1, 0},
    {kBeginWide, 2, 1},
    {kEndNamed, 3, 1},
    {kInstant, 4, 1},
    {kCounter, 5, 2},
    {kArg, 6, 2},
    {kArgName, 7, 2},
    {kFlowOut, 8, 1},
    {kFlowIn, 9, 1},
    {kSpanAt, 10, 3},
    {kStepLevel, 11, 2},
    {kAllocated, 13, 2},
    {kFreed, 14, 1},
    {kFreedAt, 15, 2},
    {kThread, 16, 4},
    {kThreadEnd, 17, 0},
    {kBase, 18, 1},
    {kOff, 19, 1},
    {kOn, 20, 0},
    {kDrop, 21, 4},
    {kMemory, 22, 5},
    {kNoMemory, 23, 4},
    {kSpanOn, 24, 4},
    {kInstantOn, 25, 3},
    {kCounterOn, 26, 4},
    {kArgOn, 27, 3},
    {kArgNameOn, 28, 3},
    {kFlowOn, 29, 2},
    {kDropOn, 30, 4},
    {kRunning, 31, 1},
    {kName, 32, -3},
    {kAnchor, 33, 4},
    {kMeta, 34, -3},
    {kPause, 35, 0},
    {kResume, 36, 0},
    {kStop, 37, 1},
    {kProbeCost, 38, 6},
    {kStart, 39, 1},
    {kTrack, 40, 6},
    {kFrames, 41, 1},
    {kGoesOnWith, 42, 2},
    {kFirstNameCode, 256, 0},
    {kLastNameCode, 65535, 0},
};

TEST(Numbers, CodesAndTheirPayload) {
  std::map<uint64_t, int> payloads;
  for (const auto& one : kCodes) {
    EXPECT_EQ(one.code, one.number);
    payloads[one.number] = one.payload;
  }
  for (uint16_t code = 0; code < 256; ++code) {
    const auto known = payloads.find(code);
    EXPECT_EQ(FixedPayloadWords(code), known == payloads.end() ? -100 : known->second) << code;
    EXPECT_EQ(IsSessionCode(code), code >= 32 && code <= 41) << code;
  }
  EXPECT_EQ(FixedPayloadWords(256), 0);
  EXPECT_EQ(FixedPayloadWords(65535), 0);
}

TEST(Numbers, TailsEndAtWholeWordsAndHaveABound) {
  constexpr uint64_t kMost = 1048576;
  for (const uint64_t bytes : {0, 1, 7, 8, 9, 16, 17}) {
    const uint64_t words = bytes / 8 + (bytes % 8 != 0 ? 1 : 0);
    const uint64_t name[3] = {5, 6, bytes}, key[3] = {bytes, 0, 0}, value[3] = {0, bytes, 0};
    EXPECT_EQ(PayloadWords(kName, name), 3 + words);
    EXPECT_EQ(PayloadWords(kMeta, key), 3 + words);
    EXPECT_EQ(PayloadWords(kMeta, value), 3 + words);
  }
  const uint64_t both[3] = {1, 9, 0};
  EXPECT_EQ(PayloadWords(kMeta, both), 3u + 1 + 2);
  for (const uint64_t beyond : {0, 1}) {
    const uint64_t name[3] = {5, 6, kMost + beyond}, key[3] = {kMost + beyond, 0, 0},
                   value[3] = {0, kMost + beyond, 0};
    const uint64_t expected = beyond != 0 ? UINT64_MAX : 3 + kMost / 8;
    EXPECT_EQ(PayloadWords(kName, name), expected);
    EXPECT_EQ(PayloadWords(kMeta, key), expected);
    EXPECT_EQ(PayloadWords(kMeta, value), expected);
  }
  const uint64_t any[6] = {};
  EXPECT_EQ(PayloadWords(kProbeCost, any), 6u);
  EXPECT_EQ(PayloadWords(12, any), UINT64_MAX);
}

TEST(Numbers, WhatANameStandsFor) {
  const uint64_t kinds[] = {kKindSpan, kKindOperation, kKindStep, kKindPhase, kKindText};
  for (uint64_t i = 0; i < std::size(kinds); ++i) EXPECT_EQ(kinds[i], i);
  const uint64_t layers[] = {kLayerNone,      kLayerPython,   kLayerFramework, kLayerRuntime,
                             kLayerSimulator, kLayerData,     kLayerComm,      kLayerNative,
                             kLayerIdle,      kLayerOverhead, kLayerDevice,    kLayerControl};
  for (uint64_t i = 0; i < std::size(layers); ++i) EXPECT_EQ(layers[i], i);
  EXPECT_EQ(kFlagWaits, 1);
  EXPECT_EQ(kFlagNoLayer, 2);
  EXPECT_EQ(kFlagCalledAt, 4);
  EXPECT_EQ(kFlagOverloaded, 8);
  EXPECT_EQ(kFlagFound, 16);
  EXPECT_EQ(kFlagFrame, 16);
  EXPECT_EQ(kFlagCrosses, 32);
  EXPECT_EQ(kFlagAsync, 64);
  EXPECT_EQ(kFlagGoesOn, 128);

  constexpr NameAttributes kName = {kKindStep, kLayerRuntime, 0xa5, 0x87654321};
  EXPECT_EQ(kName.Pack(), 0x0087654321a50302u);
  // Every bit of each field, and none of its neighbour's.
  const NameAttributes full = NameAttributes::Unpack(0xff00000000ffff04u);
  EXPECT_EQ(full.kind, kKindText);
  EXPECT_EQ(uint32_t{full.layer}, 0xffu);
  EXPECT_EQ(full.flags, 0xff);
  EXPECT_EQ(full.probe, 0u);
  for (int bit = 0; bit < 56; ++bit) {
    const uint64_t word = uint64_t{1} << bit;
    const NameAttributes one = NameAttributes::Unpack(word);
    EXPECT_EQ(uint64_t{one.kind}, bit < 8 ? word : 0) << bit;
    EXPECT_EQ(uint64_t{one.layer}, bit >= 8 && bit < 16 ? word >> 8 : 0) << bit;
    EXPECT_EQ(uint64_t{one.flags}, bit >= 16 && bit < 24 ? word >> 16 : 0) << bit;
    EXPECT_EQ(uint64_t{one.probe}, bit >= 24 ? word >> 24 : 0) << bit;
    EXPECT_EQ(one.Pack(), word);
  }
}

// docs/format.md, "Words": every pair of what may end and what may lie above it.
TEST(Numbers, WhatEndsByNameAndWhatAnEndLeavesOpen) {
  for (const Kind kind : {kKindSpan, kKindOperation}) {
    for (const uint8_t flags : {uint8_t{0}, uint8_t{32}, uint8_t{31}}) {
      const NameAttributes ended = {kind, kLayerNone, flags, 0};
      const bool crosses = flags == 32, operation = kind == kKindOperation;
      EXPECT_EQ(EndsByName(ended), operation || crosses);
      for (const Kind kind_above : {kKindSpan, kKindOperation}) {
        for (const uint8_t flags_above : {uint8_t{0}, uint8_t{32}}) {
          for (const uint32_t probe : {0u, 9u}) {
            const NameAttributes above = {kind_above, kLayerNone, flags_above, probe};
            const bool operation_above = kind_above == kKindOperation;
            const bool expected = crosses     ? true
                                  : operation ? !operation_above && probe != 0
                                              : operation_above || flags_above == 32;
            EXPECT_EQ(GoesOnAbove(ended, above), expected);
          }
        }
      }
    }
  }
}

TEST(Numbers, OfTheRest) {
  EXPECT_EQ(kThreadIsMain, 256u);
  EXPECT_EQ(kThreadIsOurs, 512u);
  EXPECT_EQ(kThreadContinues, 1024u);
  const uint64_t levels[] = {kLevelControl, kLevelBoundary, kLevelOperators, kLevelEverything,
                             kLevelMarks};
  for (uint64_t i = 0; i < std::size(levels); ++i) EXPECT_EQ(levels[i], i);
  EXPECT_EQ(kStepAfterSwitch, 256u);
  const uint64_t drops[] = {kDropFull,  kDropOverwritten, kDropMemory, kDropDisk, kDropDamaged,
                            kDropNames, kDropFork,        kDropPlugin, kDropValue};
  for (uint64_t i = 0; i < std::size(drops); ++i) EXPECT_EQ(drops[i], i + 1);
  const uint64_t stops[] = {kStopAsked, kStopExit, kStopDisk, kStopExec, kStopError, kStopLimit};
  for (uint64_t i = 0; i < std::size(stops); ++i) EXPECT_EQ(stops[i], i + 1);
  EXPECT_EQ(kClockMonotonic, 1);
  EXPECT_EQ(kClockRealtime, 2);
  EXPECT_EQ(kFirstPluginClock, 16u);
  EXPECT_EQ(kTicksTsc, 1);
  EXPECT_EQ(kTicksMonotonicNs, 2);
  EXPECT_EQ(kTicksCntvct, 3);
  EXPECT_EQ(kAutogradFlowShift, 62);
  EXPECT_EQ(kAutogradFlow, 1u);
  EXPECT_EQ(kAutogradSequenceBits, 40);
  EXPECT_EQ(MemoryDevice(1, -1), 0x00000001ffffffffu);
  EXPECT_EQ(MemoryDevice(0x80000000, 3), 0x8000000000000003u);
  EXPECT_EQ(kRunningBegun, 0x8000000000000000u);
  EXPECT_EQ(RunningToCome(0x8000000500000123), 5u);
  EXPECT_EQ(RunningToCome(0xffffffff00000000), 0x7fffffffu);
}

TEST(Numbers, OfTheRing) {
  const char magic[9] = "CCUTRNG1";
  EXPECT_EQ(memcmp(&kRingMagic, magic, 8), 0);
  EXPECT_EQ(kRingHeaderBytes, 65536u);
  EXPECT_EQ(kRingChunkBytes, 65536u);
  EXPECT_EQ(kRingChunkWords, 8192u);
  EXPECT_EQ(kRingPageBytes, 4096u);
  EXPECT_EQ(kRingDropSlots, 960u);
  EXPECT_EQ(kRingSharedDropTrack, 0xffffffffu);
  const int words[] = {kChunkState, kChunkBaseTick, kChunkDrained, kChunkTrack, kChunkReserved};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(words[i], i);
  EXPECT_EQ(kRingChunkHeaderWords, 8);
  const int states[] = {kChunkFree, kChunkClean, kChunkActive, kChunkFull};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(states[i], i);
  const int rings[] = {kRingPreparing, kRingDormant, kRingRecording,
                       kRingPaused,    kRingStopped, kRingFinished};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(rings[i], i);
  EXPECT_EQ(PackChunkState(0x123456789abcde, kChunkActive), 0x123456789abcde02u);
  EXPECT_EQ(ChunkFill(0x123456789abcde02u), 0x123456789abcdeu);
  EXPECT_EQ(ChunkState(0x123456789abcde02u), kChunkActive);
  // A copy of the header by an older reader: where its fields stand.
  EXPECT_EQ(offsetof(RingHeader, nonce), 24u);
  EXPECT_EQ(offsetof(RingHeader, pid), 32u);
  EXPECT_EQ(offsetof(RingHeader, run_device), 64u);
  EXPECT_EQ(offsetof(RingHeader, state), 120u);
  EXPECT_EQ(offsetof(RingHeader, request), 188u);
  EXPECT_EQ(offsetof(RingHeader, log_name), 200u);
  EXPECT_EQ(offsetof(RingHeader, last_plugin), 456u);
  EXPECT_EQ(offsetof(RingHeader, marks_use), 584u);
  EXPECT_EQ(offsetof(RingHeader, control), 840u);
}

TEST(Numbers, OfRequests) {
  const uint32_t kinds[] = {kRequestNone, kRequestStart, kRequestStop, kRequestSnapshot};
  for (uint32_t i = 0; i < std::size(kinds); ++i) EXPECT_EQ(kinds[i], i);
  EXPECT_EQ(kRequestTaken, 128u);
  EXPECT_EQ(kAnswerLate, 64u);
  EXPECT_EQ(kAtOnce, UINT64_MAX);
  EXPECT_EQ(RequestOf(0x12345683), 3u);

  // A request's life, by the words that the other side reads.
  auto header = std::make_unique<RingHeader>();
  memset(static_cast<void*>(header.get()), 0, sizeof *header);
  const uint32_t first = Ask(header.get(), {kRequestStart, 7, 8, 9, 10});
  EXPECT_EQ(first, 0x101u);
  EXPECT_EQ(header->request, 0x101u);
  EXPECT_EQ(header->control.at_step, 7u);
  EXPECT_EQ(header->control.step_count, 8u);
  EXPECT_EQ(header->control.limit_ns, 9u);
  EXPECT_EQ(header->control.window, 10u);
  EXPECT_EQ(WaitingRequest(*header), 0x101u);
  EXPECT_FALSE(IsAnswered(*header, first));
  EXPECT_TRUE(ClaimRequest(header.get(), first));
  EXPECT_EQ(header->request, 0x181u);
  EXPECT_EQ(WaitingRequest(*header), 0u);
  EXPECT_FALSE(ClaimRequest(header.get(), first));
  EXPECT_FALSE(WithdrawRequest(header.get()));
  Answer(header.get(), first, 5);
  EXPECT_EQ(header->answer, 5u);
  EXPECT_TRUE(IsAnswered(*header, first));
  CountSteps(header.get(), 11);
  EXPECT_EQ(StepsBegun(header.get()), 11u);

  header->request = first;  // as it is carried out, the process takes its mark off
  const uint32_t second = Ask(header.get(), {kRequestSnapshot});
  EXPECT_EQ(second, 0x203u);
  EXPECT_TRUE(WithdrawRequest(header.get()));
  EXPECT_EQ(header->request, 0x200u);
  EXPECT_EQ(WaitingRequest(*header), 0u);
  EXPECT_FALSE(ClaimRequest(header.get(), second));
}

TEST(Numbers, OfTheLog) {
  EXPECT_EQ(memcmp(&kLogMagic, "CCUTLOG1", 8), 0);
  EXPECT_EQ(memcmp(&kChunkMagic, "CHNK", 4), 0);
  EXPECT_EQ(kFormatVersion, 1u);
  EXPECT_EQ(kLogHeaderBytes, 64u);
  EXPECT_EQ(kChunkHeaderBytes, 32u);
  EXPECT_EQ(kMaxChunkBytes, 64u << 20);
  EXPECT_EQ(kChunkSession, 1);
  EXPECT_EQ(kChunkEvents, 2);
  EXPECT_EQ(kChunkIndex, 3);
  EXPECT_EQ(kChunkEnd, 4);
  EXPECT_EQ(kMaxBatchWords, 2097152u);
  EXPECT_EQ(kMaxOpenNames, 4096u);
  EXPECT_EQ(kMaxPieces, 1024u);
  EXPECT_EQ(kMaxRatio, 256u);
  const uint64_t aligned[][2] = {{0, 0}, {1, 8}, {7, 8}, {8, 8}, {9, 16}};
  for (const auto& [from, to] : aligned) EXPECT_EQ(AlignChunk(from), to);
}

// ---- Bytes
// ----------------------------------------------------------------------------------------

template <class T>
T At(std::span<const std::byte> bytes, size_t at) {
  T value;
  EXPECT_LE(at + sizeof value, bytes.size());
  memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

uint32_t CrcWithout(std::span<const std::byte> bytes, size_t blank) {
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  memset(copy.data() + blank, 0, 4);
  return base::Crc32c(copy.data(), copy.size());
}

// A finished log of a session chunk and two event chunks. The offsets are those of docs/format.md.
class LogBytes : public ::testing::Test {
 protected:
  struct Chunk {
    uint32_t type;
    size_t position;
    std::span<const std::byte> payload;
  };

  LogBytes() {
    using testing::Word;
    auto writer = std::move(*LogWriter::Create(base::MemoryFile(&bytes_), {42, -7, 8, 9, 10, 11}));
    EXPECT_TRUE(writer->AppendSession({21, 8, 5, name_}).ok());
    const std::vector<std::vector<uint64_t>> words = {{Word(5000, 300), Word(5010, 301)},
                                                      {Word(6000, kEnd)}};
    const Piece pieces[] = {{22, 8, 5000, words[0]}, {23, 40, 6000, words[1]}};
    EXPECT_TRUE(writer->AppendEvents(3, pieces).ok());
    const Piece again = {24, 9, 7000, words[1]};
    EXPECT_TRUE(writer->AppendEvents(3, {&again, 1}).ok());
    EXPECT_TRUE(writer->Finish().ok());
    FindChunks();
  }
  void FindChunks() {
    const std::span<const std::byte> log(bytes_);
    for (size_t at = 64; at + 32 <= log.size();) {
      const auto length = At<uint64_t>(log, at + 8);
      if (length > log.size() - at - 32) break;
      chunks_.push_back({At<uint32_t>(log, at + 4), at, log.subspan(at + 32, length)});
      at = (at + 32 + length + 7) / 8 * 8;
    }
    chunks_.resize(5);  // so many are there, or the first test fails
  }

  const std::vector<uint64_t> name_ = {testing::Word(1, kName), 300, 0, 8, 0x6e616d656e616d65};
  std::vector<std::byte> bytes_;
  std::vector<Chunk> chunks_;
};

TEST_F(LogBytes, OfTheHeadersOfTheLogAndItsChunks) {
  const std::span<const std::byte> log(bytes_);
  EXPECT_EQ(memcmp(log.data(), "CCUTLOG1", 8), 0);
  EXPECT_EQ(At<uint32_t>(log, 8), 1u);
  EXPECT_EQ(At<uint32_t>(log, 12), 64u);
  EXPECT_EQ(At<uint64_t>(log, 16), 42u);
  EXPECT_EQ(At<int64_t>(log, 24), -7);
  EXPECT_EQ(At<uint64_t>(log, 32), 8u);
  EXPECT_EQ(At<uint64_t>(log, 40), 9u);
  EXPECT_EQ(At<uint64_t>(log, 48), 10u);
  EXPECT_EQ(At<uint32_t>(log, 56), 11u);
  EXPECT_EQ(At<uint32_t>(log, 60), base::Crc32c(log.data(), 60));

  size_t expected = 64;
  for (const auto& [type, position, payload] : chunks_) {
    EXPECT_EQ(position, expected);
    EXPECT_EQ(memcmp(log.data() + position, "CHNK", 4), 0);
    EXPECT_EQ(At<uint32_t>(log, position + 16), base::Crc32c(payload.data(), payload.size()));
    EXPECT_EQ(At<uint32_t>(log, position + 20), CrcWithout(log.subspan(position, 32), 20));
    EXPECT_EQ(At<uint64_t>(log, position + 24), position);
    const size_t end = position + 32 + payload.size();
    expected = (end + 7) / 8 * 8;
    ASSERT_LE(expected, log.size());
    for (size_t pad = end; pad < expected; ++pad) EXPECT_EQ(log[pad], std::byte{0});
  }
  EXPECT_EQ(expected, log.size());
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(chunks_[i].type, (std::vector<uint32_t>{1, 2, 2, 3, 4})[i]);
  }
}

TEST_F(LogBytes, OfWhatChunksOfWordsBeginWith) {
  const auto session = chunks_[0].payload;
  EXPECT_EQ(At<uint64_t>(session, 0), 21u);
  EXPECT_EQ(At<uint64_t>(session, 8), 5u);
  EXPECT_EQ(At<uint64_t>(session, 16), 5u);
  EXPECT_EQ(At<uint32_t>(session, 24), 8u);
  ASSERT_EQ(At<uint32_t>(session, 28), 0u) << "so few words are raw";
  ASSERT_EQ(session.size(), 32u + 40);
  EXPECT_EQ(memcmp(session.data() + 32, name_.data(), 40), 0);

  const auto head = chunks_[1].payload;
  EXPECT_EQ(At<uint32_t>(head, 0), 3u);
  EXPECT_EQ(At<uint32_t>(head, 4), 0u);
  EXPECT_EQ(At<uint64_t>(head, 8), 3u);
  EXPECT_EQ(At<uint64_t>(head, 16), 3u);
  EXPECT_EQ(At<uint64_t>(head, 24), 5000u);
  EXPECT_EQ(At<uint64_t>(head, 32), 6000u);
  EXPECT_EQ(At<uint32_t>(head, 40), 2u);
  EXPECT_EQ(At<uint32_t>(head, 44), 0u);
  const auto head_bytes = At<uint32_t>(head, 48);
  EXPECT_EQ(At<uint32_t>(head, 52), CrcWithout(head.first(head_bytes), 52));
  EXPECT_EQ(At<uint64_t>(head, 56), 0u);
  // Two pieces: fill, first word, words, twice the distance (2000 as a varint: 0xd0 0x0f).
  const uint8_t lists[] = {22, 8, 2, 0, 23, 40, 1, 0xd0, 0x0f};
  ASSERT_EQ(head_bytes, 64 + sizeof lists);
  EXPECT_EQ(memcmp(head.data() + 64, lists, sizeof lists), 0);

  // 300 was open behind the first chunk; 301 had ended.
  const auto next = chunks_[2].payload;
  EXPECT_EQ(At<uint64_t>(next, 24), 7000u);
  EXPECT_EQ(At<uint32_t>(next, 44), 1u);
  const uint8_t next_lists[] = {24, 9, 1, 0, 0xac, 0x02};
  ASSERT_EQ(At<uint32_t>(next, 48), 64 + sizeof next_lists);
  EXPECT_EQ(memcmp(next.data() + 64, next_lists, sizeof next_lists), 0);
}

TEST_F(LogBytes, OfTheIndexAndTheEnd) {
  const auto index = chunks_[3].payload;
  EXPECT_EQ(At<uint64_t>(index, 0), 3u);
  const auto* at = reinterpret_cast<const uint8_t*>(index.data()) + 8;
  const auto* end = reinterpret_cast<const uint8_t*>(index.data()) + index.size();
  uint64_t place = 0;
  for (size_t i = 0; i < 3; ++i) {
    uint64_t step = 0, type = 0, length = 0;
    for (uint64_t* value : {&step, &type, &length}) {
      ASSERT_NE(at = base::GetVarint(at, end, value), nullptr);
    }
    place += step;
    EXPECT_EQ(place, chunks_[i].position);
    EXPECT_EQ(type, chunks_[i].type);
    EXPECT_EQ(length, chunks_[i].payload.size());
  }
  EXPECT_EQ(at, end);

  const auto finish = chunks_[4].payload;
  ASSERT_EQ(finish.size(), 32u);
  EXPECT_EQ(At<uint64_t>(finish, 0), chunks_[3].position);
  EXPECT_EQ(At<uint64_t>(finish, 8), 3u);
  EXPECT_EQ(At<uint64_t>(finish, 16), 4u);
  EXPECT_EQ(At<uint64_t>(finish, 24), 0u);
}

// Spans that repeat, nested, with values near each other, and all kinds of events.
std::vector<uint64_t> AllKinds(uint64_t tick) {
  std::mt19937_64 random(46);
  std::vector<uint64_t> words;
  using testing::Word;
  for (uint64_t i = 0; i < 400; ++i) {
    for (const uint64_t name : {300, 301, 302}) words.push_back(Word(tick += 90 + name, name));
    words.insert(words.end(), {Word(tick += 3, kFlowOut), 7000 + i});
    words.insert(words.end(), {Word(tick += 3, kFlowIn), 7001 + 2 * i});
    words.insert(words.end(), {Word(tick += 3, kFlowOn), 77, 7002 + 3 * i});
    words.insert(words.end(), {Word(tick += 3, kCounter), 310, i * i});
    words.insert(words.end(), {Word(tick += 3, kArg), 311 + i % 5, i << 20});
    words.insert(words.end(), {Word(tick += 3, kAllocated), 0x7f0000000000 + i * 64, 64});
    words.insert(words.end(), {Word(tick += 3, kFreed), 0x7f0000000000 + i * 32});
    words.insert(words.end(), {Word(tick += 3, kFreedAt), 0x7f0000000000 + i * 16, tick - 50});
    const uint64_t device = MemoryDevice(1, static_cast<int32_t>(i % 3));
    words.insert(words.end(), {Word(tick += 3, kMemory), device, 0x500000 + i * 512, 512,
                               512 * (i + 1), 1 << 20});
    words.insert(words.end(), {Word(tick += 3, kSpanAt), 312, tick - 500, tick - 100});
    words.insert(words.end(), {Word(tick += 3, kSpanOn), 77, 313, 9'000'000 + i * 1000, 9'000'400});
    words.insert(words.end(), {Word(tick += 3, kInstantOn), 78, 314, 9'000'100 + i * 1000});
    words.insert(words.end(), {Word(tick += 3, kCounterOn), 79, 315, 9'000'200 + i * 1000, i});
    words.insert(words.end(), {Word(tick += 3, kDrop), kDropFull, i, tick - 80, tick - 40});
    words.insert(words.end(), {Word(tick += 3, kGoesOnWith), tick - 900, 1});
    words.insert(words.end(), {Word(tick += 3, kStepLevel), i, i % 5});
    words.insert(words.end(), {Word(tick += 3, kThread), 9, 1009, 0, tick});
    for (int depth = 0; depth < 3; ++depth) words.push_back(Word(tick += 50 + i % 7, kEnd));
  }
  const std::vector<uint64_t> any = testing::RandomEvents(&random, 2000, &tick);
  words.insert(words.end(), any.begin(), any.end());
  return words;
}

// Cuts a column off `*at` and gives what it holds.
std::vector<uint8_t> TakeColumn(const uint8_t** at, const uint8_t* end) {
  const uint8_t mode = *(*at)++;
  uint64_t size = 0, stored = 0;
  *at = base::GetVarint(base::GetVarint(*at, end, &size), end, &stored);
  EXPECT_LE(stored, static_cast<uint64_t>(end - *at));
  std::vector<uint8_t> bytes(size);
  const uint8_t* from = *at;
  *at += stored;
  switch (mode) {
    case 0: EXPECT_EQ(stored, size); return {from, from + stored};
    case 1: EXPECT_EQ(ZSTD_decompress(bytes.data(), size, from, stored), size); return bytes;
    case 2: EXPECT_EQ(stored, 1u); return std::vector<uint8_t>(size, *from);
    default: ADD_FAILURE() << "mode " << int{mode}; return {};
  }
}

// What stands in the columns before they are compressed, which zstd's versions do differently. If
// this fails, logs that exist can no longer be read: it takes a new type of chunk.
TEST(Bytes, ColumnsAreThoseOfTheFirstVersion) {
  constexpr uint32_t kSums[kColumnCount] = {0xcc4c4379, 0x8187bae6, 0xfbf687c2, 0xef8e1846,
                                            0x2c8ca966, 0x53738f4e, 0xda45f24e, 0x79e1b281,
                                            0x489c9b2e, 0x3aaab61,  0x5f9d80d3, 0xe16d04bc};
  constexpr uint64_t kTick = uint64_t{1} << 40;
  Piece piece;
  piece.base_tick = kTick;
  const std::vector<uint64_t> words = AllKinds(kTick);
  piece.words = words;
  base::PodVector<uint8_t> columns;
  uint64_t last_tick = 0;
  auto packer = Packer::Create();
  ASSERT_TRUE(packer->Pack({&piece, 1}, &columns, &last_tick).ok());
  const uint8_t* at = columns.data();
  const uint8_t* end = at + columns.size();
  for (int column = 0; column < kColumnCount; ++column) {
    ASSERT_LT(at, end);
    const std::vector<uint8_t> bytes = TakeColumn(&at, end);
    EXPECT_EQ(base::Crc32c(bytes.data(), bytes.size()), kSums[column]) << "column " << column;
  }
  EXPECT_EQ(at, end);
}

}  // namespace
}  // namespace crosscut::format
