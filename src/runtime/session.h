// The session of the process: what starts, ends and forks it. What it is made of has headers of its
// own: what the process is doing (state.h), the log it writes (process_log.h), the sources of its
// spans (sources.h), the steps of the program (steps.h), requests from outside (on_demand.h),
// plugins (plugins.h).
//
// Threads: every public function may be called from any thread. Start, stop, pause and their like
// go one at a time, each under a Transition; only a failure of the log, the program's exit and the
// end of its plugins come between. It holds no lock while it calls a source, so a source may call
// back; a thread that would wait for longer than a second, or for itself, gets CROSSCUT_ERUNNING.
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include <atomic>

#include "crosscut/crosscut.h"
#include "src/collect/recorder.h"
#include "src/runtime/kept_profile.h"
#include "src/runtime/on_demand.h"
#include "src/runtime/process_log.h"
#include "src/runtime/settings.h"
#include "src/runtime/sources.h"
#include "src/runtime/state.h"
#include "src/runtime/steps.h"

namespace crosscut::record {

class Transition;

class Session {
 public:
  static Session& Get();
  // When the library is loaded.
  void Init();

  int Start(const crosscut_options* options);
  // Opens log and ring and takes requests from outside; nothing records until one asks.
  int Arm(const crosscut_options* options);
  // wait: for another start or stop that is under way.
  int Stop(format::StopReason reason, bool wait = true);
  int Pause();
  int Resume();
  // See crosscut_whole().
  int RecordWhole(bool on);
  int Snapshot();
  int Flush();

  State state() const { return state_.state(); }
  bool open() const { return IsOpen(state()); }
  // Whether a log takes facts: a session is open, or the process is armed.
  bool log_is_open() const { return open() || on_demand_.armed(); }
  const char* run_dir() const { return open() ? log_.settings().run_dir : ""; }
  const char* process_key() const { return log_is_open() ? log_.key() : ""; }
  double budget_before_steps() const {
    return open() && steps_.next() == 0 ? log_.settings().budget : 0;
  }
  OnDemand& on_demand() { return on_demand_; }
  Sources& sources() { return sources_; }
  void FollowFork(bool on) { follow_fork_.store(on); }

  int AddSource(const crosscut_source* source);
  void RemoveSource(int handle) { sources_.Remove(handle); }
  // See crosscut_collected().
  int Collected(const Profile& profile);

  uint64_t Step(uint32_t kind);
  void StepEnd();
  void BeginPhase(const char* name);
  void NameProcess(const char* name);

  // A filter on all threads would end the process at the next call of ours: plugins stop, and the
  // thread that empties the ring goes. What the ring can take is recorded still.
  void LeaveTheProgramAlone();
  // A filter on the calling thread might end the process at a system call of ours on it.
  void LeaveClocks() { steps_.LeaveClocks(); }
  void AtExit(bool by_underscore_exit = false);
  // Whether this process has the log: not so in a child that shares the memory of who has it.
  bool IsOwner() const { return log_.owner() == getpid(); }
  // The process leaves by _exit(): no handler of exit() has run.
  void OnUnderscoreExit();
  // The main thread ends by pthread_exit(): the program ends with its own last thread, not ours.
  void OnMainThreadEnd();
  void InForkedChild();

 private:
  friend class Transition;
  static int OtherThreads();  // of ours, beside the drain's
  static void* AwaitLastThread(void* self);
  static void StartInChild();
  static void OnDrainFailure(const char* error, int number);
  static void OnPluginsIdle();

  // What start and arm are refused for alike.
  int MayBegin(const Transition& transition, const crosscut_options* options) const;
  int ArmedSettings(const crosscut_options* options, Settings* settings) const;
  int StartLocked(const Settings& settings);
  int StopAfterStep(bool wait);
  int OpenLog(const Settings& settings);
  void CloseLog();
  void StartPlugins();
  void BeAskedAtExit();
  void LeaveNothing();
  bool Make(Change change, uint64_t tick) {
    return state_.Make(change, tick, log_.header(), on_demand_.armed());
  }
  // That of the steps in this state.
  int LevelIn(State state) const {
    return InControl(state) ? int{CROSSCUT_LEVEL_CONTROL} : sources_.level_when_on();
  }
  uint64_t StepBeside(uint32_t kind);
  // False where it cannot be done now.
  bool SwitchTo(int level, uint64_t step_tick);

  // Transition's.
  Mutex<LockRank::kTransition> mutex_;
  ForkSafeCondition changed_;
  bool busy_ = false;
  pthread_t busy_thread_ = {};

  ProcessState state_;
  bool secure_ = false;                   // raised privileges: never records
  std::atomic<bool> follow_fork_{false};  // FollowFork() -> InForkedChild()
  std::atomic<bool> whole_{false};        // RecordWhole() -> Step()
  bool asked_at_exit_ = false;

  ProcessLog log_;
  OnDemand on_demand_;
  Sources sources_;
  Steps steps_;
};

// At most one at a time; false in operator bool where it could not be had.
class Transition {
 public:
  explicit Transition(Session* session, bool wait = true);
  ~Transition();
  explicit operator bool() const { return held_; }
  Transition(const Transition&) = delete;
  Transition& operator=(const Transition&) = delete;

 private:
  Session* session_;
  bool held_ = false;
};

}  // namespace crosscut::record
