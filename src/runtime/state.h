// What this process is doing: one value, changed in one place. The recorder's phase, the state in
// the ring's header, whether a session is open and whether a control step runs follow from it.
//
//   state               changes that lead on, and where            phase      header
//   absent              arm: armed; start: recording               off        (no ring)
//   armed               start: recording                           off        dormant
//   recording           enter control, pause, withdraw             on         recording
//   entering control    hide: control                              as before  recording
//   control             leave: recording; pause, withdraw          control    recording
//   paused              resume: recording; withdraw                paused     paused
//   paused in control   resume: control; withdraw                  paused     paused
//   stopping            close: closing; stop: stopped, or armed    as before  as before
//   closing             handed over: stopped, or armed; start      closing    stopped, dormant
//   stopped             start: recording; arm: armed               off        stopped
//   failed              stop: stopped, or armed                    off        stopped
//   ending              stop: stopped, or armed                    as before  stopped
//
// From each state with a session, fail leads to failed, and exit to ending unless it has failed. A
// forked child begins absent.
#pragma once

#include <stdint.h>

#include <atomic>

#include "src/collect/lock.h"
#include "src/collect/recorder.h"
#include "src/format/ring.h"

namespace crosscut::record {

enum class State : uint8_t {
  kAbsent,
  kArmed,  // a log is open and requests are taken
  kRecording,
  kEnteringControl,  // sources withdraw, and what they do is still recorded
  kControl,
  kPaused,
  kPausedInControl,
  kStopping,  // sources withdraw for good; recorded as before
  kClosing,   // stopped, but plugins still hand over what they hold
  kStopped,
  kFailed,  // a session is open whose log can be written no more
  kEnding,  // exit() runs; recorded as before
};

enum class Change : uint8_t {
  kArm,
  kStart,
  kEnterControl,
  kHide,  // control, once the sources are withdrawn
  kLeaveControl,
  kPause,
  kResume,
  kWithdraw,
  kClose,
  kStop,
  kHandedOver,
  kFail,
  kExit,
};

// The state that `change` makes of `state`; `state` itself where it makes none. `armed`: requests
// are taken.
State Next(State state, Change change, bool armed);

// A session is open: between start and stop.
inline bool IsOpen(State state) {
  return (state >= State::kRecording && state <= State::kStopping) || state >= State::kFailed;
}
// Steps are switched between levels.
inline bool Records(State state) { return state == State::kRecording || state == State::kControl; }
inline bool IsPaused(State state) {
  return state == State::kPaused || state == State::kPausedInControl;
}
inline bool InControl(State state) {
  return state == State::kEnteringControl || state == State::kControl ||
         state == State::kPausedInControl;
}

// One per process, in Session. Any thread.
class ProcessState {
 public:
  State state() const { return state_.load(std::memory_order_acquire); }
  // Makes the change at `tick`, with all that follows from it: nobody sees the state of one change
  // with the phase of another. False where `change` makes nothing of the state. `header`: of the
  // ring that is open, or null; what else it tells of the change is stored before.
  bool Make(Change change, uint64_t tick, format::RingHeader* header, bool armed);
  // In a forked child, and where the process could not be armed.
  void Forget() { state_.store(State::kAbsent); }

 private:
  Mutex<LockRank::kState> mutex_;
  std::atomic<State> state_{State::kAbsent};  // Make() -> state(), with what is open then
};

}  // namespace crosscut::record
