// The state machine of the process, by what must hold of every way through it.
#include "src/runtime/state.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace crosscut::record {
namespace {

constexpr Change kEvery[] = {Change::kArm,    Change::kStart,        Change::kEnterControl,
                             Change::kHide,   Change::kLeaveControl, Change::kPause,
                             Change::kResume, Change::kWithdraw,     Change::kClose,
                             Change::kStop,   Change::kHandedOver,   Change::kFail,
                             Change::kExit};

TEST(State, WhatFailedStaysFailedUntilAStop) {
  for (const Change change : kEvery) {
    EXPECT_EQ(Next(State::kFailed, change, false),
              change == Change::kStop ? State::kStopped : State::kFailed);
  }
}

TEST(State, AStopEndsWhateverIsOpen) {
  for (int state = 0; state <= static_cast<int>(State::kEnding); ++state) {
    for (const bool armed : {false, true}) {
      const auto before = static_cast<State>(state);
      const State after = Next(before, Change::kStop, armed);
      EXPECT_FALSE(IsOpen(after));
      EXPECT_EQ(after, IsOpen(before) ? (armed ? State::kArmed : State::kStopped) : before);
    }
  }
}

TEST(State, AResumeLeadsBackToWhereThePauseBegan) {
  for (const State before : {State::kRecording, State::kControl}) {
    const State paused = Next(before, Change::kPause, false);
    EXPECT_TRUE(IsPaused(paused));
    EXPECT_EQ(InControl(paused), InControl(before));
    EXPECT_EQ(Next(paused, Change::kResume, false), before);
  }
}

// A session opens by a start alone, closes by a stop alone, and no way leads out of a control step
// into recording but the step plan's.
TEST(State, RandomChangesKeepWhatIsPromised) {
  std::mt19937 random(1);
  State state = State::kAbsent;
  for (int i = 0; i < 100'000; ++i) {
    const Change change = kEvery[random() % std::size(kEvery)];
    const State after = Next(state, change, random() % 2 == 0);
    if (IsOpen(after) && !IsOpen(state)) {
      EXPECT_EQ(change, Change::kStart);
    }
    if (!IsOpen(after) && IsOpen(state)) {
      EXPECT_TRUE(change == Change::kStop || change == Change::kClose);
    }
    if (after == State::kRecording && InControl(state)) {
      EXPECT_EQ(change, Change::kLeaveControl);
    }
    if (IsPaused(after) && !IsPaused(state)) {
      EXPECT_EQ(change, Change::kPause);
    }
    if (state != State::kAbsent) {
      EXPECT_NE(after, State::kAbsent);
    }
    state = after;
  }
}

}  // namespace
}  // namespace crosscut::record
