// Sources: who produces spans by hooks, at which level each of them is, and what is known of them.
//
// Threads: what changes levels or adds a source is called by one at a time, the session's
// transition. The rest may be called from any thread. No lock is held while a source is called, and
// what a source throws ends here.
#pragma once

#include <pthread.h>
#include <stdint.h>

#include <atomic>

#include "crosscut/crosscut.h"
#include "src/collect/lock.h"

namespace crosscut::record {

struct ProbeCost {
  uint32_t probe;  // 0: none
  // Picoseconds inside, outside, low and high bound of the sum; samples. As in crosscut_probe_cost.
  uint64_t figures[5];
};

class Sources {
 public:
  // The number of the source, 0 where Fail() said why not. At `level` from now on.
  int Add(const crosscut_source& source, int level);
  // It is called no more once this returns: waits where another thread is calling it. Where it is
  // the source itself that calls, from within set_level(), it is forgotten as it is.
  void Remove(int handle);

  // Of the sources where neither a control step nor a pause runs: crosscut_level.
  int level_when_on() const { return level_when_on_.load(); }
  // A session begins.
  void Begin() { level_when_on_.store(CROSSCUT_LEVEL_EVERYTHING); }
  // Puts all sources there, plugins among them, and no more: a pause, say. At the level marks,
  // sources that do not know it are withdrawn, and plugins go on.
  void Set(int level);
  void SetWhenOn(int level);
  // The session ends: hooks go, also what a control step left in place.
  void Withdraw(bool from_control);
  // In a forked child.
  void AfterFork();

  // What a probe costs is a fact of the machine, and what is known of a source stays: into the log
  // where one takes facts now, and into every log that opens later. Null leaves what was told.
  void ProbeCosts(const ProbeCost& cost);
  void Tell(const char* name, const char* version, const char* state, const char* message,
            bool log_is_open);
  void WriteWhatIsKnown();
  // Whether a plugin has begun to record and not handed everything over. Into the log that is open.
  static void Holds(const char* name, bool holds);

 private:
  static constexpr int kMostSources = 32;
  static constexpr uint32_t kMostCosts = 128;
  struct Source {
    int handle;  // 0: free
    char name[64];
    void* self;
    int (*set_level)(void*, crosscut_level);
    void (*calibrate)(void*);
    int level;
    bool marks;  // as in crosscut_source
    bool calibrated;
    bool called;  // just now, by `caller`
    pthread_t caller;
  };
  // A row of the table `sources`.
  struct Known {
    char name[80];  // "": free
    char version[64];
    char state[16];
    char message[512];
  };
  static void Write(const Known& known);
  static void Write(const ProbeCost& cost);
  void SetOne(Source* source, int level);
  static void Call(const Source& source, int level, bool calibrate);

  Mutex<LockRank::kSources> mutex_;  // of all that is not atomic
  ForkSafeCondition returned_;       // a call of a source
  Source sources_[kMostSources] = {};
  int next_handle_ = 1;
  std::atomic<int> level_when_on_{CROSSCUT_LEVEL_EVERYTHING};  // the transition -> level_when_on()
  Known known_[kMostSources] = {};
  ProbeCost costs_[kMostCosts] = {};
  uint32_t cost_count_ = 0;
};

}  // namespace crosscut::record
