// The process's side of `crosscut start|stop|snapshot`: takes the requests that others write into
// the header of its ring, and has them carried out by the right thread. docs/on-demand.md.
//
// One object per process, in Session. A request that names a step is carried out by the thread that
// begins that step; any other by the program's own thread where the program lent one
// (crosscut_on_demand) that comes soon, else by the thread `crosscut-control`, which sleeps on the
// request word, a futex, and costs nothing meanwhile. Whoever carries it out claims it first, by
// one compare-and-swap.
#pragma once

#include <stdint.h>

#include <atomic>

#include "crosscut/crosscut.h"
#include "src/collect/lock.h"
#include "src/format/ring.h"

namespace crosscut::record {

class OnDemand {
 public:
  // What requests ask of the session. Any thread; errors as of the C API, words by Fail().
  struct Calls {
    bool (*records)();                              // or is paused
    int (*start)(const crosscut_options* options);  // null: with the settings of Arm()
    int (*stop)();                                  // after the end of a step that runs
    int (*stop_at_once)();  // the same; CROSSCUT_ERUNNING where it would have to wait
    int (*snapshot)();
  };

  // When the library is loaded: memory that reads 0 in every kind of child.
  void Init(const Calls& calls);
  // From here on requests are taken. `header` stays mapped until the process ends. Returns 0 or an
  // errno.
  int Arm(format::RingHeader* header);
  // Where the first window ends if nobody outside asked for it: after `steps` of its steps (0: no
  // such end) and at `at_ns` of CLOCK_MONOTONIC (0: never). Before Arm().
  void LimitFirst(uint64_t steps, int64_t at_ns) { first_ = {0, steps, at_ns, false}; }
  // No request is taken any more; the thread sleeps on.
  void Disarm();
  bool armed() const { return header() != nullptr; }
  void SetProgram(const crosscut_program* program);
  // Threads of ours: 0 or 1.
  int threads() const { return running_.load() ? 1 : 0; }

  // By the thread that begins step `step`, before it is marked. Any thread, one at a time.
  void AtStep(uint64_t step);
  // Carries out what waits and names no step, but for snapshots. Any thread.
  void Serve();

  // Starts and stops of whoever asks, in an armed process with the program's side of a window, on
  // this thread. Errors as of Calls.
  int Start(const crosscut_options* options);
  int Stop(int (*stop)());
  // From before the program's side of a window begins until the window has ended. Any thread.
  bool InWindow() const { return beginning_.load() > 0 || calls_.records(); }

  // Told by the session, whoever started or stopped it.
  void WindowBegins(uint64_t next_step);
  void WindowEnds(uint64_t next_step);
  // In a forked child. Where the parent recorded, the child's next window is the parent's.
  void AfterFork(bool parent_recorded);

 private:
  static void* Main(void* self);
  void AwaitPlan(format::RingHeader* header);
  // Arm(), Disarm() -> here. Relaxed: it points at a mapping whose fields are atomic themselves.
  format::RingHeader* header() const {
    return page_ == nullptr ? nullptr : __atomic_load_n(page_, __ATOMIC_RELAXED);
  }
  // Claims the request that `word` is; false where it is no longer there, or claimed.
  bool Claim(format::RingHeader* header, uint32_t word);
  // Where the request word says that it was claimed, and it was not: an answer, so that it does not
  // stand there for ever.
  void RefuseNonsense(format::RingHeader* header);
  static bool NamesStep(const format::RingHeader& header);
  void Wait(format::RingHeader* header, uint32_t word, int64_t ns);
  // Has Serve() called on a thread of the program, or calls it. False: try again soon.
  bool Call();
  void CarryOut(format::RingHeader* header, uint32_t word, uint64_t step);
  int Begin(format::RingHeader* header);
  int End() { return Stop(calls_.stop); }
  void CallProgram(bool begins);
  static void Answer(format::RingHeader* header, uint32_t word, uint32_t answer, const char* words);
  void ServeLimit();

  Calls calls_ = {};
  format::RingHeader** page_ = nullptr;  // on a page that forks wipe: src/collect/slow_path.h
  std::atomic<bool> running_{false};     // Arm() -> threads(), of the drain and of forked children
  // What is lent stays as it is, and stays: SetProgram() -> Call(), CallProgram(), on other
  // threads.
  std::atomic<const crosscut_program*> program_{nullptr};
  struct Window {
    uint64_t number = 0;      // 0: one more than the last
    uint64_t step_count = 0;  // how many steps it has; 0: no such end
    int64_t limit_at_ns = 0;  // CLOCK_MONOTONIC, when it ends by itself; 0: never
    bool asked = false;       // from outside, or by what the parent was in
  };
  Window inherited_;  // the parent's, in a forked child
  Window first_;      // see LimitFirst
  uint64_t number_ = 0;
  // Ends before this step begins; 0: none. WindowBegins(), WindowEnds() -> AtStep(). Relaxed there:
  // a step that misses it leaves the window's end to the next one.
  std::atomic<uint64_t> stop_step_{0};
  // WindowBegins(), WindowEnds() -> Main(), and ServeLimit(), where one thread takes it by
  // exchange.
  std::atomic<int64_t> limit_at_ns_{0};
  // The limit that our thread has seen. Main() -> WindowBegins(), which wakes it until it has.
  std::atomic<int64_t> planned_ns_{0};
  // Starts under way. Start() -> InWindow(): a window that ended meanwhile on another thread leaves
  // the program's side of the one that begins alone.
  std::atomic<int> beginning_{0};
  Mutex<LockRank::kRequests> claim_mutex_;
  uint32_t claimed_ = 0;  // the request claimed last; under the mutex
};

}  // namespace crosscut::record
