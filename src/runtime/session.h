// The session of the process: off, recording, paused, stopped; what starts and ends it; its run
// directory, log, ring and drain; its sources and its steps.
//
// Threads: every public function may be called from any thread. Changes of state are serialised by
// Transition, which holds no lock while it calls a source, so a source may call back; who would
// have to wait for a second or for himself gets CROSSCUT_ERUNNING.
#pragma once

#include <pthread.h>
#include <stdint.h>

#include <atomic>

#include "crosscut/crosscut.h"
#include "src/collect/chunk_ring.h"
#include "src/collect/drain.h"
#include "src/collect/recorder.h"
#include "src/runtime/budget.h"
#include "src/runtime/on_demand.h"
#include "src/runtime/plan.h"
#include "src/runtime/settings.h"

namespace crosscut::record {

inline constexpr int kMaxSources = 32;

struct ProbeCost {
  uint32_t probe;  // 0: none
  // Picoseconds inside, outside, low and high bound of the sum; samples. As in crosscut_probe_cost.
  uint64_t figures[5];
};
inline constexpr uint32_t kMaxCosts = 32;

struct Source {
  int handle;  // 0: free
  char name[64];
  void* self;
  int (*set_level)(void*, crosscut_level);
  void (*calibrate)(void*);
  int level;
  bool calibrated;
};

// A row of the table `sources`.
struct SourceState {
  char name[80];  // "": free
  char version[64];
  char state[16];
  char message[512];
};

// When a collected profile began, and how right its times are.
struct ProfileTime {
  int64_t begin_realtime_ns, error_ns;
};

class Transition;

class Session {
 public:
  enum State { kOff, kRecording, kPaused };

  static Session& Get();
  // When the library is loaded.
  void Init();

  int Start(const crosscut_options* options);
  // Opens log and ring and takes requests from outside; nothing records until one asks.
  int Arm(const crosscut_options* options);
  OnDemand& on_demand() { return on_demand_; }
  int Stop(format::StopReason reason);
  int Pause();
  int Resume();
  int Snapshot();
  int Flush();
  State state() const { return static_cast<State>(state_.load(std::memory_order_acquire)); }
  const char* run_dir() const { return state() == kOff ? "" : settings_.run_dir; }
  const char* process_key() const {
    return state() == kOff && !on_demand_.armed() ? "" : process_key_;
  }
  bool in_control() const { return in_control_.load(std::memory_order_acquire); }
  void FollowFork(bool on) { follow_fork_.store(on); }

  int AddSource(const crosscut_source* source);
  void RemoveSource(int handle);
  // Into the log, and into every log that this process and its forked children open later: what a
  // probe costs is a fact of the machine. Any thread, no lock.
  void ProbeCosts(const ProbeCost& cost);
  // Into the same logs. Null leaves what was told before. Any thread.
  void TellSource(const char* name, const char* version, const char* state, const char* message);

  // See crosscut_collected(). Any thread.
  int Collected(const char* source, const char* format, const void* bytes, size_t size,
                ProfileTime time);
  // Stops the plugins and waits, at most until their deadlines, for what they hand over.
  void FinishPlugins();

  uint64_t Step(uint32_t kind);
  void StepEnd();
  void Lead();
  void BeginPhase(const char* name);
  void Progress(double fraction);
  void NameProcess(const char* name);

  void AtExit(bool by_underscore_exit = false);
  // The process leaves by _exit(): no handler of exit() has run.
  void OnUnderscoreExit();
  // The main thread ends by pthread_exit(): the program ends with its own last thread, not ours.
  void OnMainThreadEnd();
  void InForkedChild();
  Drain& drain() { return drain_; }

 private:
  friend class Transition;
  // Threads of ours beside the drain's.
  static int OtherThreads();
  void LeaveNothing();
  // What start and arm are refused for alike.
  int MayBegin(const Transition& transition, const crosscut_options* options) const;
  int ArmedSettings(const crosscut_options* options, Settings* settings) const;
  static void* AwaitLastThread(void* self);
  static void StartInChild();
  static void OnDrainStart();
  static void OnDrainFailure(const char* error, int number);
  int StartLocked(const Settings& settings);
  bool SameLog(const Settings& settings) const;
  int Open(const Settings& settings);
  int OpenLog(const Settings& settings, uint64_t start_tick);
  int OpenRing(const Settings& settings, const format::RingHeader& header, int* mark);
  int TryRing(const char* dir, uint64_t wanted_chunks, const format::RingHeader& header, int* mark);
  void CloseLog();
  void MarkStop(uint64_t tick, format::StopReason reason, bool waits = false);
  void FillHeader(const Settings& settings, const format::LogIdentity& log,
                  const base::ProcessIdentity& self, format::RingHeader* header);
  void WriteFacts(const base::ProcessIdentity& self);
  void SetSources(int level);
  void WithdrawSources();
  void SetOneSource(int index, int level);
  void SetPlan(const Settings& settings);
  format::StepLevel LevelOf(uint64_t step, uint64_t tick, int level_before);
  // False where it cannot be done now.
  bool SwitchTo(int level, uint64_t step_tick);
  void Calibrate();
  void WriteWhatIsKnown();
  void StartPlugins();
  bool StopPlugins();
  void OnPluginsIdle();
  int KeepFile(const char* name, const void* bytes, size_t size);

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
  bool busy_ = false;  // a transition is under way
  pthread_t busy_thread_ = {};

  std::atomic<int> state_{kOff};
  bool secure_ = false;
  std::atomic<bool> follow_fork_{false};
  bool exit_registered_ = false;
  std::atomic<bool> broken_{false};  // the log failed: no further session in this run directory

  Settings settings_ = {};
  ChunkRing rings_[2];
  int ring_index_ = 0;
  bool open_ = false;  // log, ring and drain exist
  int owner_ = 0;      // the process whose they are
  Drain drain_;
  OnDemand on_demand_;
  char process_key_[64] = {};
  char parent_key_[64] = {};
  char log_path_[kPathBytes] = {};
  char ring_path_[kPathBytes] = {};
  char ring_note_[256] = {};
  char process_name_[256] = {};
  const char* start_method_ = nullptr;
  int log_fd_ = -1;

  Source sources_[kMaxSources] = {};
  int next_handle_ = 1;
  pthread_mutex_t told_mutex_ = PTHREAD_MUTEX_INITIALIZER;
  SourceState told_[kMaxSources] = {};
  std::atomic<int> level_when_on_{CROSSCUT_LEVEL_EVERYTHING};

  // Steps. Written by crosscut_step(), which one thread calls (the lead), and by whoever begins and
  // ends windows: in an armed process that may be another thread.
  StepPlan plan_;
  StepBudget budget_;
  // The step that runs: when it began (0: nothing to compare), what its thread had written.
  uint64_t step_tick_ = 0, step_words_ = 0;
  bool step_switched_ = false;
  std::atomic<uint64_t> next_step_{0};
  std::atomic<bool> in_step_{false};
  std::atomic<bool> in_control_{false};
  bool calibrated_ = false;
  ProbeCost costs_[kMaxCosts] = {};  // those with a probe other than 0
  std::atomic<uint32_t> cost_count_{0};
  std::atomic<uint32_t> step_name_{0};
  std::atomic<uint32_t> running_step_{0};  // name of the step that runs
  std::atomic<uint32_t> phase_name_{0};
  std::atomic<uint32_t> collected_{0};  // profiles kept by this process
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
