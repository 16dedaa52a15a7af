// Sources: who produces spans by hooks, at which level each of them is, and what is known of them.
//
// Threads: what changes levels or the list is called by one at a time, the session's transition,
// and holds no lock while it calls a source. Tell and ProbeCosts may be called from any thread.
#pragma once

#include <pthread.h>
#include <stdint.h>

#include <atomic>

#include "crosscut/crosscut.h"

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
  void Remove(int handle);

  // Of the sources while recording is on: crosscut_level. In a control step they are at CONTROL.
  int level() const { return in_control() ? int{CROSSCUT_LEVEL_CONTROL} : level_when_on_.load(); }
  int level_when_on() const { return level_when_on_.load(); }
  bool in_control() const { return in_control_.load(std::memory_order_acquire); }
  // A session begins.
  void Begin();
  // Puts all sources there, plugins among them, and no more: a pause, say.
  void Set(int level);
  void EnterControl();
  // The step that begins has `level`, which is not CONTROL. Before SetWhenOn calls the sources.
  void LeaveControl() { in_control_.store(false); }
  void SetWhenOn(int level);
  // The session ends: hooks go, also what a control step left in place.
  void Withdraw();
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
  static constexpr uint32_t kMostCosts = 32;
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
  struct Known {
    char name[80];  // "": free
    char version[64];
    char state[16];
    char message[512];
  };
  static void Write(const Known& known);
  static void Write(const ProbeCost& cost);
  void SetOne(Source* source, int level);

  Source sources_[kMostSources] = {};
  int next_handle_ = 1;
  // Both: the session's transition -> level(), in_control(). Each stands for itself: who reads them
  // at a switch may have one of before and one of after.
  std::atomic<int> level_when_on_{CROSSCUT_LEVEL_EVERYTHING};
  std::atomic<bool> in_control_{false};
  pthread_mutex_t known_mutex_ = PTHREAD_MUTEX_INITIALIZER;
  Known known_[kMostSources] = {};
  ProbeCost costs_[kMostCosts] = {};     // those with a probe other than 0
  std::atomic<uint32_t> cost_count_{0};  // ProbeCosts() takes a place, once by the addition alone;
                                         // it does not publish what is put there
};

}  // namespace crosscut::record
