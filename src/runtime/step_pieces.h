// Puts steps together into pieces and tells what each took of the machine.
//
// What a level costs shows in the processor's time of the thread that makes the steps: other
// programs on the machine do not make that longer, and a step that sleeps or waits has little of
// it. To read it costs a system call, so it is read once in kPieceNs at most. Where runs are long,
// it is rarer far from a change of level, as the call takes some microseconds with what it leaves
// cold. Near one it is not: blocks are not that long, and what is compared there is all that tells
// what levels cost by now. Where other threads want the processor, the kernel gives it to them at
// such a call, for milliseconds: the longer calls take, the farther apart they are.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "src/runtime/budget.h"

namespace crosscut::record {

class StepPieces {
 public:
  static constexpr double kPieceNs = 100'000, kPieceOfLongRunNs = 1'000'000;
  static constexpr uint32_t kNearChange = 32;  // pieces: as many as the budget compares
  static constexpr double kReadsApart = 100;   // of what one takes

  // A new session.
  void Set(double ns_per_tick);
  // The time up to now is no step's.
  void Drop() { begin_ = 0; }
  bool under_way() const { return begin_ != 0; }
  // Steps begin, on the calling thread. `words`: that it has written so far.
  void Begin(uint64_t tick, uint64_t words);
  void StepEnded(format::StepLevel level, bool after_switch);
  // The level has changed since the last piece was taken, by now: at `tick`.
  void Switched(uint64_t tick);
  bool due(uint64_t tick, uint64_t step) const {
    const bool is_long =
        since_change_ >= kNearChange && StepBudget::RunOf(step).steps > StepBudget::kLeastRunSteps;
    const double usual = is_long ? kPieceOfLongRunNs : kPieceNs;
    const double least = std::max(usual, kReadsApart * read_ns_on_average_);
    return piece_.after_switch || static_cast<double>(tick - begin_) * ns_per_tick_ >= least;
  }
  // A reading of the processor's time has taken so long. The longer they take, the rarer they are.
  void ReadingTook(double ns);
  uint32_t steps() const { return piece_.steps; }
  // What has ended since the last call, or since Begin(). The next piece begins. Where that was on
  // another thread, its words are not known, and its time is the clock's.
  StepBudget::Piece Take(uint64_t tick, uint64_t words);
  // For how many ticks the thread was ready without a processor in pieces, beside what was told
  // before. Late, by what ReadRunDelay() is.
  double TakeRunDelay();

  // Another thread asks the kernel, once in a while: who makes the steps may be forbidden to.
  void ReadRunDelay();
  // No system call on the threads of the program any more. Any thread.
  void LeaveClocks() { reads_clocks_.store(false); }

 private:
  int64_t CpuNs();

  double ns_per_tick_ = 1;
  StepBudget::Piece piece_ = {};
  uint32_t since_change_ = 0;       // pieces
  uint64_t begin_ = 0, words_ = 0;  // begin_ 0: nothing is under way
  int64_t cpu_ns_ = -1;             // -1: not known
  double read_ns_on_average_ = 0;   // lately
  pthread_t thread_ = {};
  // Since Begin(): in pieces, for a processor or anything else; what TakeRunDelay() told of it.
  double waited_ns_ = 0, delay_told_ = 0;
  int64_t delay_seen_ = 0;  // of delay_ns_, by Begin()
  std::atomic<bool> reads_clocks_{true};
  std::atomic<int> os_id_{0};         // Begin() -> ReadRunDelay()
  std::atomic<int64_t> delay_ns_{0};  // ReadRunDelay() -> TakeRunDelay(): only ever more
  // Of ReadRunDelay() alone.
  int64_t next_read_ns_ = 0, read_ns_ = 0;
  int read_of_ = 0;
};

}  // namespace crosscut::record
