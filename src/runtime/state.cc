#include "src/runtime/state.h"

#include <optional>

namespace crosscut::record {
namespace {

// None: as before.
std::optional<Phase> PhaseIn(State state) {
  switch (state) {
    case State::kRecording: return Phase::kOn;
    case State::kControl: return Phase::kControl;
    case State::kPaused:
    case State::kPausedInControl: return Phase::kPaused;
    case State::kClosing: return Phase::kClosing;
    case State::kEnteringControl:
    case State::kStopping:
    case State::kEnding: return std::nullopt;
    default: return Phase::kOff;
  }
}

format::RingState InHeader(State state, bool armed) {
  if (IsPaused(state)) return format::kRingPaused;
  if (state == State::kFailed || state == State::kEnding) return format::kRingStopped;
  if (IsOpen(state)) return format::kRingRecording;
  return armed ? format::kRingDormant : format::kRingStopped;
}

}  // namespace

State Next(State state, Change change, bool armed) {
  const auto from = [state](State before, State after) { return state == before ? after : state; };
  const State stopped = armed ? State::kArmed : State::kStopped;
  switch (change) {
    case Change::kArm: return IsOpen(state) ? state : State::kArmed;
    case Change::kStart: return IsOpen(state) ? state : State::kRecording;
    case Change::kEnterControl: return from(State::kRecording, State::kEnteringControl);
    case Change::kHide: return from(State::kEnteringControl, State::kControl);
    case Change::kLeaveControl: return from(State::kControl, State::kRecording);
    case Change::kPause:
      return state == State::kControl ? State::kPausedInControl
                                      : from(State::kRecording, State::kPaused);
    case Change::kResume:
      return state == State::kPausedInControl ? State::kControl
                                              : from(State::kPaused, State::kRecording);
    case Change::kWithdraw:
      return IsOpen(state) && state != State::kFailed ? State::kStopping : state;
    case Change::kClose: return from(State::kStopping, State::kClosing);
    case Change::kStop: return IsOpen(state) ? stopped : state;
    case Change::kHandedOver: return from(State::kClosing, stopped);
    case Change::kFail: return IsOpen(state) ? State::kFailed : from(State::kClosing, stopped);
    case Change::kExit: return IsOpen(state) && state != State::kFailed ? State::kEnding : state;
  }
  return state;
}

bool ProcessState::Make(Change change, uint64_t tick, format::RingHeader* header, bool armed) {
  const Lock lock(&mutex_);
  const State before = state_.load(std::memory_order_relaxed);
  const State after = Next(before, change, armed);
  if (after == before) return false;
  state_.store(after, std::memory_order_release);
  if (const std::optional<Phase> phase = PhaseIn(after)) Recorder::Get().SetPhase(*phase, tick);
  if (after != State::kStopping && header != nullptr) {
    format::RingStore<uint32_t>(header->state, InHeader(after, armed));
  }
  return true;
}

}  // namespace crosscut::record
