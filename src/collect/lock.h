// The recording half's locks, and the order in which a thread may take them. None is held over a
// wait, a write to disk, a callback or code of others.
#pragma once

#include "crosscut/fork_safe_mutex.h"

namespace crosscut::record {

// A thread that holds one takes only those behind it. Builds with fault points end where it does
// not.
enum class LockRank : int {
  kNone = 0,
  kPluginCalls,  // host::Registry: which plugins are called
  kPlugin,       // host::Plugin: its commands
  kTransition,   // Session: whose turn it is
  kSources,      // Sources: their list, what is known of them
  kRequests,     // OnDemand: which request was claimed
  kState,        // Session: what the process is doing
  kPushTable,    // host::PushTable: tracks and clocks of a plugin
  kThreads,      // Recorder: the states of threads
  kStream,       // SessionStream: names, facts and edges
};

template <LockRank rank>
class Mutex : public ForkSafeMutex {};

#ifdef CROSSCUT_FAULT_POINTS
inline __thread int innermost_rank = 0;
#endif

// Holds a mutex for as long as it lives.
template <LockRank rank>
class [[nodiscard]] Lock {
 public:
  explicit Lock(Mutex<rank>* mutex) : mutex_(mutex) {
#ifdef CROSSCUT_FAULT_POINTS
    if (innermost_rank >= static_cast<int>(rank)) __builtin_trap();
    outer_ = innermost_rank;
    innermost_rank = static_cast<int>(rank);
#endif
    mutex_->lock();
  }
  ~Lock() {
    mutex_->unlock();
#ifdef CROSSCUT_FAULT_POINTS
    innermost_rank = outer_;
#endif
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Mutex<rank>* mutex_;
#ifdef CROSSCUT_FAULT_POINTS
  int outer_;
#endif
};

}  // namespace crosscut::record
