#include "src/runtime/step_pieces.h"

#include <gtest/gtest.h>

#include <thread>

#include "src/collect/clock.h"

namespace crosscut::record {
namespace {

TEST(StepPieces, TellWhatTheirThreadWrote) {
  StepPieces pieces;
  pieces.Set(1);
  pieces.Begin(1'000, 50);
  pieces.StepEnded(format::kLevelBoundary, false);
  const StepBudget::Piece piece = pieces.Take(3'000, 57);
  EXPECT_EQ(piece.words, 7);
  EXPECT_EQ(piece.ticks, 2'000);
  EXPECT_LE(piece.cpu_ticks, piece.ticks);
}

// What the other thread wrote cannot be known here, and is not 0.
TEST(StepPieces, KnowNoWordsOfAnotherThread) {
  StepPieces pieces;
  pieces.Set(1);
  std::thread([&] { pieces.Begin(1'000, 50); }).join();
  pieces.StepEnded(format::kLevelBoundary, false);
  const StepBudget::Piece piece = pieces.Take(3'000, 57);
  EXPECT_LT(piece.words, 0);
  EXPECT_EQ(piece.cpu_ticks, 2'000);
  pieces.StepEnded(format::kLevelBoundary, false);
  EXPECT_EQ(pieces.Take(4'000, 60).words, 3) << "the next piece is this thread's";
}

// Of the step behind a change, the part before Switched() is what sources took.
TEST(StepPieces, TellHowLongAChangeTook) {
  StepPieces pieces;
  pieces.Set(1);
  pieces.LeaveClocks();  // by the ticks alone
  pieces.Begin(1'000, 0);
  pieces.Switched(1'400);
  pieces.StepEnded(format::kLevelOperators, true);
  EXPECT_EQ(pieces.Take(3'000, 0).switch_ticks, 400);
  pieces.StepEnded(format::kLevelOperators, false);
  EXPECT_EQ(pieces.Take(5'000, 0).switch_ticks, 0);
}

uint64_t read_ticks = 0;  // what a look at the clock takes

uint64_t SlowClock() {
  static uint64_t now = 1'000;
  return now += read_ticks;
}

// What the program forbids to ask, or what was read at once, says nothing.
TEST(StepPieces, TellWhereTheThreadHadNoProcessor) {
  ClockInjectForTest(&SlowClock);
  StepPieces pieces;
  pieces.Set(1);
  const auto away = [&](uint64_t took) {
    read_ticks = took;
    pieces.Begin(1'000, 0);
    const StepPieces::Away out = pieces.TakeAway();
    return out.end - out.begin;
  };
  EXPECT_EQ(away(49'999), 0u);
  EXPECT_EQ(away(50'000), 50'000u);
  EXPECT_EQ(pieces.TakeAway().end, 0u) << "it is told once";
  read_ticks = 60'000;
  pieces.Begin(1'000, 0);
  read_ticks = 90'000;
  pieces.Take(2'000, 0);
  read_ticks = 70'000;
  pieces.Take(3'000, 0);
  const StepPieces::Away longest = pieces.TakeAway();
  EXPECT_EQ(longest.end - longest.begin, 90'000u);
  pieces.LeaveClocks();
  EXPECT_EQ(away(80'000), 0u);
  ClockInjectForTest(nullptr);
}

// Blocks are short: what they have to tell is told in as small pieces however long the run is.
TEST(StepPieces, AreSmallNearAChangeAndLongFarFromIt) {
  constexpr uint64_t kPiece = 100'000, kLate = 100'000;  // a step of a long run
  ASSERT_GT(StepBudget::RunOf(kLate).steps, StepBudget::kLeastRunSteps);
  StepPieces pieces;
  pieces.Set(1);
  pieces.LeaveClocks();
  uint64_t tick = 1'000;
  pieces.Begin(tick, 0);
  for (const auto level : {format::kLevelControl, format::kLevelBoundary}) {
    pieces.StepEnded(level, true);
    EXPECT_TRUE(pieces.due(tick += 10, kLate)) << "the step of the change is one by itself";
    pieces.Take(tick, 0);
    for (uint32_t i = 1; i < StepPieces::kNearChange; ++i) {
      pieces.StepEnded(level, false);
      EXPECT_FALSE(pieces.due(tick + kPiece / 2, kLate));
      EXPECT_TRUE(pieces.due(tick += kPiece, kLate)) << i;
      pieces.Take(tick, 0);
    }
    pieces.StepEnded(level, false);
    EXPECT_FALSE(pieces.due(tick + kPiece, kLate));
    EXPECT_TRUE(pieces.due(tick + kPiece, 0)) << "in a short run";
    EXPECT_TRUE(pieces.due(tick + 10 * kPiece, kLate));
  }
}

}  // namespace
}  // namespace crosscut::record
