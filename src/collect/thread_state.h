// What the recorder knows of one thread. Lives in memory that forked children see as zero, so a
// child's threads are switched off with no handler at all (slow_path.h, The fork page). Only its
// thread writes it, but for `enabled` and `on_tick`, which a switch of the session's phase also
// stores, and for `in_use` and `next_free`, which need the threads lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "crosscut/crosscut.h"
#include "src/format/ring.h"

namespace crosscut::record {

inline constexpr uint32_t kHiddenNames = 64;
inline constexpr uint32_t kOwedEnds = 8;

// Ends that could not be written when they happened: `count` times kEnd, or kEndNamed of `name`.
struct OwedEnd {
  uint32_t name;
  uint32_t count;
};

struct ThreadState : crosscut_thread {
  // The ring chunk being written, null: none. Atomic, release: Recorder::Adopt(), EnterSession() ->
  // ForEachOpenChunk(), which needs the claim's header words with it.
  uint64_t* chunk;
  uint64_t chunks;  // how many it has taken
  uint32_t track;
  uint32_t session;  // the one its stream belongs to
  uint32_t ring;     // number of the ring that its chunk and its slot belong to; atomic, as `chunk`
  int32_t os_id;
  uint8_t base;  // layer
  bool in_use;
  bool announce;    // a kThread word must come next
  bool announced;   // one was written in this session
  bool stack_lost;  // more happened unseen than can be repaired: the reader's stack restarts
  uint8_t end_rounds;
  bool scratch;    // calibration: its chunk is written again and again
  uint64_t flags;  // of kThread: main, ours

  // Spans begun unseen and still open: in a control step, in a pause, or while the ring was full.
  uint32_t hidden_depth;
  uint64_t hidden_lost;  // bit i: hidden[i] was counted as a drop
  uint64_t on_tick;      // atomic: since when these are not hidden any more; 0: they are
  uint32_t hidden[kHiddenNames];
  uint32_t owed_count;
  OwedEnd owed[kOwedEnds];

  format::RingDropSlot* slot;
  bool slot_stays;      // when the thread ends: what an earlier session lost stands there alone
  uint64_t drops;       // not yet told in the stream
  uint64_t drop_first;  // full ticks
  uint64_t drop_last;

  ThreadState* next_free;  // scratch: its mapping
  crosscut_thread* real;   // scratch: the thread's own state
};

// SetPhase(), Hide() -> WriteHidden(). Relaxed: a tick by itself; who misses it takes switch_tick_.
inline uint64_t OnTick(const ThreadState* s) {
  return __atomic_load_n(&s->on_tick, __ATOMIC_RELAXED);
}
// The first tick is kept until 0 is set.
inline void SetOnTick(ThreadState* s, uint64_t tick) {
  if (tick == 0 || OnTick(s) == 0) __atomic_store_n(&s->on_tick, tick, __ATOMIC_RELAXED);
}

// Of the thread itself, towards its signal handlers: what they mark meanwhile is counted as lost.
// To its own handlers a thread is in order once the compiler is, which the fences see to.
inline uint32_t Busy(const crosscut_thread* thread) {
  return __atomic_load_n(&thread->busy, __ATOMIC_RELAXED);
}
inline void SetBusy(crosscut_thread* thread, uint32_t value) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&thread->busy, value, __ATOMIC_RELEASE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
// Of another thread, once it was switched off, behind a barrier on all. With a no come the words
// that it has marked, so that there will be none any more.
inline bool StillMarks(const crosscut_thread* thread) {
  return __atomic_load_n(&thread->busy, __ATOMIC_ACQUIRE) != 0;
}

// SetPhase(), Arm() and the slow path -> crosscut_write_(). seq_cst: phases.h.
inline void SetEnabled(crosscut_thread* thread, uint32_t value) {
  __atomic_store_n(&thread->enabled, value, __ATOMIC_SEQ_CST);
}

// Slabs of thread states. Callers hold the recorder's threads lock.
class ThreadStates {
 public:
  // Zeroed but for `in_use`; null beyond `cap_bytes` of slabs.
  ThreadState* Take(size_t cap_bytes);
  void Give(ThreadState* state);
  template <class Visit>
  void ForEach(Visit visit) {
    for (uint32_t s = 0; s < slab_count_; ++s) {
      for (uint32_t i = 0; i < kSlabStates; ++i) {
        if (slabs_[s][i].in_use) visit(&slabs_[s][i]);
      }
    }
  }
  // In a forked child, where the slabs read zero: no state is in use and the list of free ones is
  // gone. Makes the list anew; where the slabs are is known from the parent.
  void AfterFork();
  size_t bytes() const { return slab_count_ * kSlabBytes; }

 private:
  static constexpr size_t kSlabBytes = 64 << 10;
  static constexpr uint32_t kSlabStates = kSlabBytes / sizeof(ThreadState);
  static constexpr uint32_t kSlabs = 4096;
  void FreeSlab(uint32_t slab);

  ThreadState* slabs_[kSlabs] = {};
  uint32_t slab_count_ = 0;
  ThreadState* free_ = nullptr;
};

}  // namespace crosscut::record
