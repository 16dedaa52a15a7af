#include "src/runtime/step_pieces.h"

#include <gtest/gtest.h>

#include <thread>

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

// Where others want the processor, they get it while the clock is read, for milliseconds.
TEST(StepPieces, AreLongWhereReadingTheClockTakesLong) {
  StepPieces pieces;
  pieces.Set(1);
  pieces.LeaveClocks();
  pieces.Begin(1'000, 0);
  pieces.StepEnded(format::kLevelBoundary, false);
  const auto due_behind = [&pieces](double ns) {
    return pieces.due(1'000 + static_cast<uint64_t>(ns), 1);
  };
  for (int i = 0; i < 100; ++i) pieces.ReadingTook(500);
  EXPECT_TRUE(due_behind(StepPieces::kPieceNs)) << "usually it is soon done";
  for (int i = 0; i < 100; ++i) pieces.ReadingTook(1e6);
  EXPECT_FALSE(due_behind(90e6));
  EXPECT_TRUE(due_behind(101e6));
  for (int i = 0; i < 100; ++i) pieces.ReadingTook(500);
  EXPECT_TRUE(due_behind(StepPieces::kPieceNs)) << "and when that is over";
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
