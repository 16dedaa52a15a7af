// What the process records, and how threads come to know.
//
// Off: every thread's `enabled` is 0. On: 1 (2 until the thread has its chunk). Control (a control
// step) and paused: 2; begins are only remembered, ends of spans begun before are written. Closing
// (stopped, but plugins still hand over what they hold): 0, and only Push() writes. Every switch
// makes a new phase word, which threads compare after they arm themselves:
//
//   the session:  the word is another   then  enabled = 0
//   a thread:     enabled = 1           then  the word is another? enabled = 2
//   one that finds recording off:
//                 enabled = 0           then  the word is another? enabled = 2
//
// All are seq_cst, so that whoever is second sees the other: no thread marks inline once
// recording is off, and none is off once it is on (model_test.cc, Phases). The inline path itself
// reads `enabled` relaxed: a mark that is late by a moment is one of before. It reads it once more
// behind `busy`, so that whoever has switched recording off can tell whether a thread still marks:
// Recorder::SomeThreadMarks().
#pragma once

#include <cstdint>

#include "src/base/atomic.h"
#include "src/collect/thread_state.h"

namespace crosscut::record {

enum class Phase : uint64_t { kOff = 0, kOn = 1, kControl = 2, kPaused = 3, kClosing = 4 };
inline constexpr int kPhaseBits = 3;  // of a phase word; behind them its number
inline Phase PhaseOf(uint64_t word) { return static_cast<Phase>(word & ((1 << kPhaseBits) - 1)); }
inline bool Hides(Phase phase) { return phase == Phase::kControl || phase == Phase::kPaused; }

class PhaseWord {
 public:
  // Any thread.
  uint64_t Load() const { return word_.load(std::memory_order_seq_cst); }
  // One caller at a time. `enable(enabled)` gives every thread its `enabled`.
  template <class Enable>
  void Switch(Phase phase, Enable enable) {
    const uint64_t number = (word_.load(std::memory_order_relaxed) >> kPhaseBits) + 1;
    word_.store(number << kPhaseBits | static_cast<uint64_t>(phase), std::memory_order_seq_cst);
    enable(phase == Phase::kOn || Hides(phase) ? 2u : 0u);
  }
  // The calling thread, whose `thread` is, has found `phase`, which is on, and marks inline from
  // here on; not if the phase is another meanwhile.
  void Arm(crosscut_thread* thread, uint64_t phase) const { Set(thread, 1, phase); }
  // It has found `phase`, which is off: it need not look any more, not if the phase is another
  // meanwhile.
  void Disarm(crosscut_thread* thread, uint64_t phase) const { Set(thread, 0, phase); }

 private:
  void Set(crosscut_thread* thread, uint32_t enabled, uint64_t phase) const {
    SetEnabled(thread, enabled);
    if (Load() != phase) SetEnabled(thread, 2);
  }

  // A number that rises << kPhaseBits | Phase.
  sync::Atomic<uint64_t> word_{0};
};

}  // namespace crosscut::record
