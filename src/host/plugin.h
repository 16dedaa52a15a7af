// One plugin in this process: its thread, and what state it is in. The host's contract with it:
//
// Calls come in the order load, start, stop, collect, each at most once per session and never after
// an error in that session, and destroy behind the last of all, on this plugin's own thread with
// all signals blocked and no lock of ours held; no exception passes; memory and sizes are bounded.
// The thread that asks never waits. A call that overruns its deadline makes the plugin quarantined:
// it is named, left alone with its thread, and never called again. So does an exception.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "src/host/hooks.h"
#include "src/host/hygiene.h"
#include "src/host/library.h"
#include "src/host/push_table.h"
#include "src/host/registration.h"

namespace crosscut::host {

class Plugin {
 public:
  // `file`: a path, then the plugin's options behind a ','.
  Plugin(const char* file, const Surroundings* around);

  // Starts the thread, which loads the file. False: no thread.
  bool Begin();
  // Ask and return. Stop collects what there is.
  void Start() { Post(kStart); }
  void Stop() { Post(kStop); }
  void Flush() { Post(kFlush); }
  // Runs its destroy functions; what is asked for later is not done.
  void End();
  // Whether something asked for is not done yet; false for one that is quarantined. Looks at the
  // deadlines.
  bool Busy();
  // Calls the plugin's set_level on this thread, if it has one.
  void SetLevel(uint32_t level);
  // Calls its other_profiler on this thread, if it has one.
  void OtherProfiler(const char* who, const TheirProfilers::State& theirs);
  PushTable& pushes() { return pushes_; }
  const char* name() const { return name_; }
  const char* file() const { return file_; }  // without options
  bool has_thread() const { return has_thread_.load(); }
  // "demo: stop" while that is being called, else "".
  void CallInFlight(char* out, size_t bytes) const;
  // In a forked child: the thread is not there, and the device's library does not survive.
  void AfterFork();

 private:
  enum Command : uint8_t { kStart, kStop, kFlush, kEnd };
  enum State : uint8_t { kLoading, kReady, kStarted, kFailed };
  enum Call : uint8_t {
    kNone,
    kLoadCall,
    kStartCall,
    kStopCall,
    kCollectCall,
    kFlushCall,
    kDestroyCall
  };
  static constexpr const char* kCallNames[] = {"",        "load",  "start",  "stop",
                                               "collect", "flush", "destroy"};
  static constexpr int kCommands = 64;
  static constexpr int64_t kFlushEveryNs = 200'000'000;

  static void* Main(void* self);
  void NameThread();
  void Run();
  bool Next(Command* command);
  void Post(Command command);
  void Do(Command command);
  void Load();
  void DoStart();
  void DoStop();
  void DoFlush();
  // Calls `body` with the plugin's callbacks on a thread of the program's.
  template <class Body>
  void CallHere(const char* function, Body body);
  void Destroy();
  void Collect();
  bool CallCollect(uint8_t* buffer, size_t* size);
  void CheckHygiene(const Hygiene& before);
  // A call of a function in `body`, guarded, timed and watched. False: the plugin is done for.
  template <class Body>
  bool Invoke(Call call, int64_t deadline, Body body);
  // What a call said by its status.
  struct Answer {
    TF_Code code = TF_OK;
    char message[256] = {};
  };
  // Invoke() of a body that takes a TF_Status.
  template <class Body>
  bool Ask(Call call, int64_t deadline, Body body, Answer* answer);
  void Quarantine(const char* state, const char* why);
  void Tell(const char* state, const char* format, ...) __attribute__((format(printf, 3, 4)));
  bool Overdue() const;

  char file_[1024];
  char name_[64];
  const Surroundings* around_;
  PushTable pushes_;
  pthread_t thread_ = {};

  record::Mutex<record::LockRank::kPlugin> mutex_;
  ForkSafeCondition posted_;
  Command commands_[kCommands];
  int command_count_ = 0;
  bool is_named_ = false;  // its thread: Main() -> Begin()
  // Commands posted and not done, the load among them. Begin(), Post() and Run() -> Busy(): at 0
  // all that they pushed is there, by seq_cst as for all below.
  std::atomic<int> outstanding_{0};

  // The thread's own.
  State state_ = kLoading;
  Library library_;
  Registration registration_;
  int64_t began_realtime_ns_ = 0;
  bool told_hygiene_ = false, told_on_ = false;

  std::atomic<uint8_t> call_{kNone};      // Invoke() -> Overdue(), Busy(), CallInFlight()
  std::atomic<int64_t> call_ends_ns_{0};  // CLOCK_MONOTONIC: by when the call must be back. Stored
                                          // before call_, read after it: never of a call before
  // Quarantine(), AfterFork() -> whoever would ask or push; the first to exchange it tells why.
  // has_thread_: Begin(), Main() -> who counts the program's threads.
  std::atomic<bool> quarantined_{false}, has_thread_{false};
  // End(), Destroy() -> Post(), CallHere(); CallHere() -> Destroy(): seq_cst, so that one of the
  // two sees the other.
  std::atomic<bool> ending_{false};
  std::atomic<int> called_here_{0};  // threads
  // Threads in Quarantine(): its reason may not be told yet. Raised before quarantined_ -> Busy(),
  // which reads it last.
  std::atomic<int> quarantining_{0};
};

}  // namespace crosscut::host
