#include "src/format/pack.h"

#include <gtest/gtest.h>

#include "bench/trace_generator.h"
#include "src/format/test_words.h"

namespace crosscut::format {
namespace {

using testing::RandomEvents;
using testing::Word;

struct Packed {
  base::PodVector<uint8_t> columns;
  std::vector<PieceOrigin> origins;
  uint64_t events = 0, last_tick = 0;
  size_t words = 0;
};

Packed PackAll(const std::vector<Piece>& pieces) {
  Packed packed;
  auto packer = Packer::Create();
  const Status status = packer->Pack(pieces, &packed.columns, &packed.last_tick);
  EXPECT_TRUE(status.ok()) << status.message();
  packed.events = packer->events();
  for (const Piece& piece : pieces) {
    packed.origins.push_back(
        {piece.fill, piece.first_word, static_cast<uint32_t>(piece.words.size()), piece.base_tick});
    packed.words += piece.words.size();
  }
  return packed;
}

std::vector<uint64_t> UnpackAll(const Packed& packed) {
  std::vector<uint64_t> words(packed.words);
  const Status status =
      Unpacker::Create()->Unpack(packed.columns, packed.events, packed.origins, words);
  EXPECT_TRUE(status.ok()) << status.message();
  return words;
}

TEST(Pack, GivesBackRandomWordsOfEveryKind) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    uint64_t tick = random() >> random() % 30;
    const uint64_t base = tick;
    const auto words = RandomEvents(&random, random() % 600, &tick);
    Piece piece;
    piece.base_tick = base;
    piece.words = words;
    ASSERT_EQ(UnpackAll(PackAll({piece})), words) << "round " << round;
  }
}

// A packer that has packed much must store what a fresh unpacker understands.
TEST(Pack, EveryBatchOfAPackerStandsAlone) {
  std::mt19937_64 random(11);
  auto packer = Packer::Create();
  for (int round = 0; round < 200; ++round) {
    uint64_t tick = random() >> 20;
    Piece piece;
    piece.base_tick = tick;
    const auto words = RandomEvents(&random, random() % 600, &tick);
    piece.words = words;
    Packed packed;
    ASSERT_TRUE(packer->Pack({&piece, 1}, &packed.columns, &packed.last_tick).ok());
    packed.events = packer->events();
    packed.words = words.size();
    packed.origins.push_back({0, 0, static_cast<uint32_t>(words.size()), piece.base_tick});
    ASSERT_EQ(UnpackAll(packed), words) << "round " << round;
  }
}

TEST(Pack, GivesBackSeveralPiecesWithTheirOwnBases) {
  std::mt19937_64 random(8);
  std::vector<std::vector<uint64_t>> parts;
  std::vector<Piece> pieces;
  std::vector<uint64_t> all;
  uint64_t tick = 12345;
  for (int i = 0; i < 5; ++i) {
    tick += uint64_t{1} << 44;
    Piece piece;
    piece.fill = static_cast<uint64_t>(i + 1);
    piece.base_tick = tick;
    parts.push_back(RandomEvents(&random, 200, &tick));
    pieces.push_back(piece);
    all.insert(all.end(), parts.back().begin(), parts.back().end());
  }
  for (int i = 0; i < 5; ++i) pieces[i].words = parts[i];
  EXPECT_EQ(UnpackAll(PackAll(pieces)), all);
}

TEST(Pack, FollowsTheClockOverItsWrap) {
  const uint64_t base = (uint64_t{5} << 48) - 100;
  std::vector<uint64_t> words;
  for (uint64_t i = 0; i < 200; ++i) words.push_back(Word(base + i, i % 2 ? kEnd : 0x123));
  Piece piece;
  piece.base_tick = base;
  piece.words = words;
  const Packed packed = PackAll({piece});
  EXPECT_EQ(packed.last_tick, base + 199);
  EXPECT_EQ(UnpackAll(packed), words);
}

TEST(Pack, KeepsGapsOfADayAndSmallStepsBack) {
  const uint64_t base = uint64_t{1} << 50, day = uint64_t{86400} * 3'000'000'000;
  const std::vector<uint64_t> words = {Word(base, 0x100), Word(base + day, kEnd),
                                       Word(base + day - 5000, 0x101), Word(base + day, kEnd)};
  Piece piece;
  piece.base_tick = base;
  piece.words = words;
  const Packed packed = PackAll({piece});
  EXPECT_EQ(packed.last_tick, base + day);
  EXPECT_EQ(UnpackAll(packed), words);
}

TEST(Pack, RefusesWordsThatAreNotWholeEvents) {
  base::PodVector<uint8_t> out;
  uint64_t last = 0;
  for (const std::vector<uint64_t>& words : {std::vector<uint64_t>{0},
                                             {Word(5, kCounter), 1},
                                             {Word(5, 0x7f)},
                                             {Word(5, kMeta), 1, 99, 0}}) {
    Piece piece;
    piece.words = words;
    EXPECT_EQ(Packer::Create()->Pack({&piece, 1}, &out, &last).code(), Status::Code::kInvalid);
  }
}

TEST(Pack, StaysWithinTheSizesPromised) {
  for (const bool repeating : {true, false}) {
    bench::GeneratorOptions options;
    options.spans = 1 << 17;
    options.repeating = repeating;
    const auto words = bench::TraceGenerator(options).Make();
    Piece piece;
    piece.base_tick = options.start_tick;
    piece.words = words;
    const Packed packed = PackAll({piece});
    const double per_span =
        2.0 * static_cast<double>(packed.columns.size()) / static_cast<double>(words.size());
    EXPECT_LE(per_span, repeating ? 3.5 : 5.0);
    EXPECT_EQ(UnpackAll(packed), words);
  }
}

TEST(Unpack, SurvivesDamagedColumns) {
  std::mt19937_64 random(9);
  uint64_t tick = 1000;
  const auto words = RandomEvents(&random, 500, &tick);
  Piece piece;
  piece.base_tick = 1000;
  piece.words = words;
  Packed packed = PackAll({piece});
  auto unpacker = Unpacker::Create();
  std::vector<uint64_t> out(words.size());
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> columns(packed.columns.begin(), packed.columns.end());
    for (uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      columns[random() % columns.size()] ^= static_cast<uint8_t>(1 << random() % 8);
    }
    if (random() % 4 == 0) columns.resize(random() % columns.size());
    const Status status = unpacker->Unpack(columns, packed.events, packed.origins, out);
    if (!status.ok()) continue;
    for (size_t at = 0; at < out.size();) {
      const size_t length = EventLength(out, at);
      ASSERT_GT(length, 0u) << "what passes consists of whole events";
      at += length;
    }
  }
}

}  // namespace
}  // namespace crosscut::format
