// The loop of the thread that takes samples. Everything here is that thread's own: in a forked
// child, where the thread is missing, its loop is left as it is and never touched again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "clock.h"
#include "cpu_samples.h"
#include "distance.h"
#include "libraries.h"
#include "python_stacks.h"
#include "turns.h"
#include "waits.h"
#include "wanted.h"

namespace crosscut::samples {

struct SampleNames {  // ids
  uint32_t sample, thread, ago, covers, run_delay, stack_after, frame, own_line, part, library,
      offset, waits, holds_gil;
  uint32_t runs;  // value of `waits` for a thread that waits in no call and runs no native code
  uint32_t probe;
};
struct LoopSettings {
  SampleNames names;
  Wanted* wanted;
  void (*calibrate)(uint32_t probe);  // before native code is sampled
};

class SamplingLoop {
 public:
  SamplingLoop(const LoopSettings& settings, const PythonStacks& stacks)
      : settings_(settings), names_(settings.names), wanted_(*settings.wanted), stacks_(stacks) {}
  // Samples while that is wanted. Returns where the kernel refuses what it needs, with words; null
  // where the main thread has ended: this thread must not keep the process. The calling thread has
  // a table of descriptors of its own.
  const char* Run();

 private:
  // With how long no sample was wanted until then.
  struct Moment {
    int64_t at_ns = 0, unwanted_ns = 0;
  };
  struct Native {
    Libraries::Place place;
    uint32_t waits;  // name id; 0: it runs
    Gil gil;         // before that was looked at
  };
  // What a thread was seen to wait in. It is so until it gets a processor.
  struct Waiting {
    const void* state = nullptr;  // as in Thread; null: it did not wait
    Native native = {};
    Stack stack;
  };
  struct Thread {
    CpuSamples cpu;
    const void* state = nullptr;  // of Python; null: native
    Moment last;                  // its last sample; before that, the last look without it
    Account account;              // as it was then
    Waiting waiting;              // as it was then
    bool ours = false, seen = false;
  };
  // What is done again and again, but no more often than takes 1 % of a processor.
  class Seldom {
   public:
    bool IsDue(int64_t now_ns, int64_t least_ns) const;
    template <class Action>
    void Do(Action action);

   private:
    int64_t done_ns_ = 0, cost_ns_ = 0;
  };
  bool MainEnded() const;
  bool Rest(int64_t* next_ns);
  void FollowKind();
  bool Wait(int64_t until_ns);
  int64_t Period();  // how far apart samples are by now
  int64_t NextTick();
  void Tick();
  void FindThreads();
  void FindPythonThreads();
  Thread& Add(int tid);
  void SampleNative(int tid, Thread* thread);
  void SampleRunning(int tid);
  void SampleWaiting(int tid, Thread* thread);
  Moment Now() const;
  static int64_t Elapsed(const Thread& thread, const Moment& at);
  static int64_t RunDelay(const Thread& thread, const Moment& at, const Account& now);
  const Stack* Read(int tid, const Thread& thread);
  // What a sample tells.
  struct Told {
    Moment at;
    Native native;
    const Stack* stack;      // null: of a native thread
    int64_t stack_after_ns;  // so much later that was read
    Account account;
  };
  void Emit(int tid, Thread* thread, const Told& told);

  const LoopSettings settings_;
  const SampleNames& names_;
  Wanted& wanted_;
  Distance distance_;
  int64_t period_ns_ = 0;  // of the kind that is followed
  bool native_ = false;
  int epoll_ = -1;
  PythonStacks stacks_;
  Libraries libraries_;
  Waits waits_;
  std::map<int, std::unique_ptr<Thread>> threads_;
  Turns turns_;
  Allowance allowance_;
  Seldom all_, python_;  // looks for threads of any kind, and for Python's
  Moment looked_;        // when Python's were looked for last
  uint64_t random_ = 0x9e3779b97f4a7c15;
};

}  // namespace crosscut::samples
