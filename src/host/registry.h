// All plugins of this process.
#pragma once

#include <atomic>
#include <cstdint>

#include "src/collect/lock.h"
#include "src/host/hooks.h"
#include "src/host/their_profilers.h"

namespace crosscut::host {

class Plugin;

// One per process, never destroyed. Load, Start, Stop and AfterFork by one caller at a time (the
// session's transition); the rest by anyone.
class Registry {
 public:
  static constexpr int kMostPlugins = 16;
  static Registry& Get();

  // Begins to load the files of `list` (joined by ':', each a path and then, behind ',', options)
  // that are not here yet, each on a thread of its own. A file given twice is loaded once.
  void Load(const char* list, const Surroundings& around);
  // Of a session. Never waits for a plugin.
  void Start();
  void Stop();
  // Of the process: each plugin's last call.
  void End();
  void SetLevel(uint32_t level);
  void Flush();
  // Tells plugins of a profiler of the program's own, on this thread.
  void OtherProfiler(const char* who, crosscut_profiler_moment moment);
  // Facts for a log that has just begun.
  void Republish();
  // Whether a plugin has something to do or to hand over.
  bool Busy();
  // Waits until none is busy; a plugin that overruns its deadline is none. False after `ms`.
  bool Await(int ms);
  void AfterFork();
  int count() const { return count_.load(); }
  // Of plugins, that are alive.
  int threads() const;

 private:
  static void CallChanged();
  bool Has(const char* file) const;
  // False in a child that no handler of fork() has seen (a raw clone): the threads are not there.
  bool Mine() const;

  Surroundings around_ = {};
  Plugin* plugins_[kMostPlugins] = {};
  std::atomic<int> count_{0};  // Load() -> all: the plugins below it are there
  bool loaded_ = false;
  TheirProfilers theirs_;
  record::Mutex<record::LockRank::kPluginCalls> calls_mutex_;
};

}  // namespace crosscut::host
