// The steps of the program: their numbers, the level that each of them gets, and their marks.
//
// Threads: steps are begun by one thread at a time; whoever begins and ends sessions may be
// another. End, phases and progress may come from any thread.
#pragma once

#include <stdint.h>

#include <atomic>

#include "src/format/format.h"
#include "src/runtime/budget.h"
#include "src/runtime/plan.h"
#include "src/runtime/settings.h"
#include "src/runtime/step_pieces.h"

namespace crosscut::record {

class Steps {
 public:
  // A session with this plan and budget, from the next step that is entered on. False: no memory.
  bool SetPlan(const Settings& settings);

  // Begin a step: Enter, then Count, then either Skip or Level, MarkBegin and MarkLevel.
  // False where another thread is just doing it. *step: the number that the step has or would have.
  bool Enter(uint64_t* step);
  // Gives the step its number, if one may begin: `may` is asked behind a look at what Stop()
  // changes, so that who is held up over a stop takes no number of the next session's.
  template <class May>
  bool Count(May may, uint64_t* step) {
    uint64_t next = next_.load();
    do {
      if (!may()) return false;
    } while (!next_.compare_exchange_weak(next, next + 1));
    *step = next & kNumber;
    return true;
  }
  // Nothing is recorded. The time up to the next step is no step's.
  void Skip();
  // The session was paused: that time is no step's. Any thread.
  void Paused() { paused_.store(true); }
  // The level for it. Also tells the budget of the step that ends, which had `level_before`.
  format::StepLevel Level(uint64_t step, uint64_t tick, int level_before, bool recording);
  // `kind`: a name of that kind; any other: "step".
  void MarkBegin(uint64_t tick, uint32_t kind);
  // The span of putting hooks in place or withdrawing them: work of ours, on this thread.
  void MarkSwitch(uint64_t tick);
  void MarkSwitched();
  // The span of an edge of a step that has taken long, from `begin` to now: where it reads the
  // processor's time, the kernel may give the processor to another thread. What the program does is
  // not to be blamed for that.
  void MarkLongEdge(uint64_t begin);
  // A step that begins while another thread is just beginning one: with its level, and no more.
  void MarkBeside(uint64_t tick, uint64_t step, int level);
  // The step that runs on this thread, if any, is from here on recorded as no plan says.
  void MarkWhole(uint64_t tick);
  // Leaves what Enter entered.
  void MarkLevel(uint64_t tick, uint64_t step, int level, bool switched);

  // The step that runs ends. Nothing where none does.
  void End();
  void BeginPhase(const char* name);  // null: the phase that runs ends
  uint64_t next() const { return next_.load() & kNumber; }

  // By the thread of the drain.
  void ReadRunDelay() { pieces_.ReadRunDelay(); }
  // The program forbids system calls to its threads. Any thread.
  void LeaveClocks() { pieces_.LeaveClocks(); }

  // The session ends. `counts_on`: the numbers go on, for windows on demand.
  void Stop(bool counts_on);
  // In a forked child.
  void AfterFork();

 private:
  // Never changed, and kept for ever: the next session may have it again.
  struct Plan {
    StepPlan steps;
    format::StepShares shares;
    uint64_t seed;
    double budget;
    const Plan* older;
  };
  std::atomic<const Plan*> plan_{nullptr};  // SetPlan() -> Level()
  std::atomic<uint32_t> plans_set_{0};      // behind it
  const Plan* plans_ = nullptr;             // all there were: of SetPlan() alone
  // These belong to who has Enter()ed.
  StepBudget budget_;
  StepPieces pieces_;  // but for what others may call
  uint32_t plans_seen_ = 0;
  bool switched_ = false;
  std::atomic<bool> paused_{false};  // Paused() -> Level()
  // Count(), Stop() -> Enter(), next(). The number, and above it how often it was set back.
  static constexpr uint64_t kNumber = (uint64_t{1} << 48) - 1;
  std::atomic<uint64_t> next_{0};
  // A lock that nobody waits for: from Enter() to Skip() or MarkLevel().
  std::atomic<bool> beginning_{false};
  std::atomic<uint32_t> usual_name_{0};  // of the kind "step": MarkBegin() alone, once found
  std::atomic<uint32_t> running_{0};     // name of the step that runs. MarkBegin() -> End(), once
  std::atomic<uint32_t> phase_{0};       // of the phase that does. BeginPhase() begins, ends once
};

// The calling thread leads: its steps are the process's.
void MarkLead();
// A counter, in parts of 10^9, by which the table `progress` finds it. A value outside [0, 1] is
// lost, and counted.
void MarkProgress(double fraction);

}  // namespace crosscut::record
