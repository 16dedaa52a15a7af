// The state machine of the process, by what must hold of every way through it.
#include "src/runtime/state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "src/collect/clock.h"

namespace crosscut::record {
namespace {

constexpr Change kEvery[] = {Change::kArm,    Change::kStart,        Change::kEnterControl,
                             Change::kHide,   Change::kLeaveControl, Change::kPause,
                             Change::kResume, Change::kWithdraw,     Change::kClose,
                             Change::kStop,   Change::kHandedOver,   Change::kFail,
                             Change::kExit};

// As state.h has it; kStopped stands for armed where requests are taken.
const std::map<std::pair<State, Change>, State>& Table() {
  using enum State;
  static const std::map<std::pair<State, Change>, State> table = {
      {{kAbsent, Change::kArm}, kArmed},
      {{kAbsent, Change::kStart}, kRecording},
      {{kArmed, Change::kStart}, kRecording},
      {{kRecording, Change::kEnterControl}, kEnteringControl},
      {{kRecording, Change::kPause}, kPaused},
      {{kEnteringControl, Change::kHide}, kControl},
      {{kControl, Change::kLeaveControl}, kRecording},
      {{kControl, Change::kPause}, kPausedInControl},
      {{kPaused, Change::kResume}, kRecording},
      {{kPausedInControl, Change::kResume}, kControl},
      {{kStopping, Change::kClose}, kClosing},
      {{kClosing, Change::kHandedOver}, kStopped},
      {{kClosing, Change::kFail}, kStopped},
      {{kClosing, Change::kStart}, kRecording},
      {{kClosing, Change::kArm}, kArmed},
      {{kStopped, Change::kStart}, kRecording},
      {{kStopped, Change::kArm}, kArmed},
      {{kFailed, Change::kStop}, kStopped},
      {{kEnding, Change::kWithdraw}, kStopping},
      {{kEnding, Change::kStop}, kStopped},
      {{kEnding, Change::kFail}, kFailed}};
  return table;
}

TEST(State, EveryChangeOfEveryStateIsInTheTable) {
  using enum State;
  const std::vector<State> open = {kRecording, kEnteringControl, kControl,
                                   kPaused,    kPausedInControl, kStopping};
  for (int s = 0; s <= static_cast<int>(kEnding); ++s) {
    const auto state = static_cast<State>(s);
    const bool session = std::find(open.begin(), open.end(), state) != open.end();
    for (const Change change : kEvery) {
      for (const bool armed : {false, true}) {
        const auto row = Table().find({state, change});
        State want = row == Table().end() ? state : row->second;
        if (session && change == Change::kWithdraw) want = kStopping;
        if (session && change == Change::kStop) want = kStopped;
        if (session && change == Change::kFail) want = kFailed;
        if (session && change == Change::kExit) want = kEnding;
        if (want == kStopped && armed && state != kStopped) want = kArmed;
        EXPECT_EQ(Next(state, change, armed), want)
            << s << " by " << static_cast<int>(change) << (armed ? ", armed" : "");
      }
    }
  }
}

TEST(State, PhaseAndHeaderFollowFromIt) {
  ClockInit(false);
  static ProcessState process;
  format::RingHeader header = {};
  const struct {
    Change change;
    Phase phase;
    format::RingState shown;
    bool armed;
  } story[] = {{Change::kArm, Phase::kOff, format::kRingDormant, true},
               {Change::kStart, Phase::kOn, format::kRingRecording, true},
               {Change::kEnterControl, Phase::kOn, format::kRingRecording, true},
               {Change::kHide, Phase::kControl, format::kRingRecording, true},
               {Change::kPause, Phase::kPaused, format::kRingPaused, true},
               {Change::kResume, Phase::kControl, format::kRingRecording, true},
               {Change::kLeaveControl, Phase::kOn, format::kRingRecording, true},
               {Change::kPause, Phase::kPaused, format::kRingPaused, true},
               {Change::kWithdraw, Phase::kPaused, format::kRingPaused, true},
               {Change::kClose, Phase::kClosing, format::kRingDormant, true},
               {Change::kHandedOver, Phase::kOff, format::kRingDormant, true},
               {Change::kStart, Phase::kOn, format::kRingRecording, false},
               {Change::kExit, Phase::kOn, format::kRingStopped, false},
               {Change::kStop, Phase::kOff, format::kRingStopped, false},
               {Change::kStart, Phase::kOn, format::kRingRecording, false},
               {Change::kFail, Phase::kOff, format::kRingStopped, false},
               {Change::kStop, Phase::kOff, format::kRingStopped, false}};
  for (size_t i = 0; i < std::size(story); ++i) {
    EXPECT_TRUE(process.Make(story[i].change, ClockNow(), &header, story[i].armed)) << i;
    EXPECT_EQ(Recorder::Get().phase(), story[i].phase) << i;
    EXPECT_EQ(header.state, uint64_t{story[i].shown}) << i;
  }
  EXPECT_FALSE(process.Make(Change::kPause, ClockNow(), &header, false)) << "of nothing";
  EXPECT_TRUE(process.Make(Change::kStart, ClockNow(), nullptr, false)) << "without a ring";
  process.Forget();
  EXPECT_EQ(process.state(), State::kAbsent);
  Recorder::Get().SetPhase(Phase::kOff, ClockNow());
}

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
