// The recording side of the process: every thread's way from an event to a published word.
//
// The inline path of crosscut.h ends here whenever it cannot go on: first event of a thread, end
// of a chunk, control steps, pauses, a full ring. Nothing here locks or allocates after a thread's
// first event, and nothing makes a system call but a claim that finds the drain too late with clean
// chunks (ChunkRing::Claim). A thread's own stream is written by that thread alone. The session
// stream (session_stream.h) is written under a lock.
//
// Phases: phases.h.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "src/collect/chunk_ring.h"
#include "src/collect/lock.h"
#include "src/collect/phases.h"
#include "src/collect/session_stream.h"
#include "src/collect/thread_state.h"

namespace crosscut::record {

class Recorder {
 public:
  // The process's one recorder: never destroyed.
  static Recorder& Get();

  // Once, when the library is loaded: the pages that forks wipe, the name for what has none.
  void Init();
  // Names, facts and the session's edges: any thread.
  SessionStream& stream() { return stream_; }

  // ---- Marking: any thread ----
  // `at`: the event's tick, not before that of the thread's last event; 0: now.
  void Mark(uint64_t code, const uint64_t* payload, uint32_t n, uint64_t at = 0);
  void ChunkEnd(ThreadState* thread);
  void SetBase(uint8_t layer);
  // Writes an event of the calling thread in every phase but off, behind the begins it has hidden:
  // for step edges. With tick = 0: now. Returns the tick; 0 if nothing could be written.
  uint64_t MarkAlways(uint64_t tick, uint64_t code, const uint64_t* payload, uint32_t n);
  // Writes an event that carries its own time (kSpanOn, ...) in every phase but off. False if it
  // was dropped: off, no memory for the thread, or inside calibration; a full ring counts as a
  // loss in the stream.
  bool Push(uint64_t code, const uint64_t* payload, uint32_t n);
  // The calling thread is one of Crosscut's: its work is no work of the program. Before its first
  // event of a session.
  void MarkOurs();
  // How many words the calling thread has written, from some beginning on; chunks that it found
  // half full count as whole.
  static uint64_t WordsOfThisThread();
  // The kernel's number of the calling thread; 0 if it has no track.
  static int OsIdOfThisThread();
  // The calling thread's track, attaching it if need be; 0 if it has none.
  uint32_t TrackOfThisThread();

  // ---- Phases: one caller at a time (the session's state) ----
  // A new session on `ring`, which may be the one of the session before. Phase stays off.
  // False: no memory.
  bool BeginSession(ChunkRing* ring, size_t memory_cap);
  void SetPhase(Phase phase, uint64_t tick);
  Phase phase() const { return PhaseOf(phase_.Load()); }
  ChunkRing* ring() const { return ring_.load(std::memory_order_acquire); }
  // Whether another thread may be inside a mark that it began before the phase was off: it may
  // store late into a ring that was retired. True where the kernel cannot tell.
  bool SomeThreadMarks();
  uint32_t session() const { return session_.load(std::memory_order_acquire); }

  // ---- For the drain ----
  // Visits every chunk that is being written or parked, the session's first. Threads may go on
  // writing; the drain alone recycles, so the chunks stay valid (a flight recorder's once they are
  // held).
  template <class Visit>
  void ForEachOpenChunk(Visit visit) {
    if (uint64_t* at = stream_.chunk()) visit(at);
    const Lock lock(&threads_mutex_);
    // Adopt(), EnterSession() -> here. With the pointer come the claim's header words. A thread
    // that comes to another ring stores chunk = null and then the ring's number. This loads the
    // number first: what it then sees of the chunk lies in that ring. Threads that have marked
    // nothing in this session still hold what they marked in one before.
    states_.ForEach([&](ThreadState* s) {
      if (std::atomic_ref(s->ring).load(std::memory_order_acquire) != ring_number_.load()) return;
      if (uint64_t* at = std::atomic_ref(s->chunk).load(std::memory_order_acquire)) visit(at);
    });
    for (uint32_t i = 0; i < parked_count_; ++i) visit(ChunkOf(parked_[i]));
  }
  // A track of our own (the drain's). Each number once, by the addition alone.
  uint32_t NewTrack() { return next_track_.fetch_add(1); }

  // ---- Fork ----
  // In the child: everything of the parent's session is forgotten; interned names stay. With
  // `on_first_event` the next event of this thread calls it first.
  void AfterFork(void (*on_first_event)());

  size_t memory_bytes() const;
  static void ThreadEnds(void* state);  // pthread key destructor

 private:
  static uint64_t* ChunkOf(uint64_t* position) {
    return reinterpret_cast<uint64_t*>(reinterpret_cast<uintptr_t>(position) &
                                       ~uintptr_t{format::kRingChunkBytes - 1});
  }
  // The calling thread's state, in this session; null where it must not write.
  ThreadState* Prepared(uint64_t* phase, bool while_closing = false);
  ThreadState* Attach();
  void Detach(ThreadState* s);
  void EnterSession(ThreadState* s);
  void Arm(ThreadState* s, uint64_t phase);
  bool Emit(ThreadState* s, uint64_t tick, uint64_t code, const uint64_t* payload, uint32_t n);
  bool Room(ThreadState* s, uint64_t tick, size_t words);
  void Adopt(ThreadState* s, uint64_t* chunk, uint64_t* position);
  bool AdoptParked(ThreadState* s, uint64_t tick, size_t words);
  size_t PrologueWords(const ThreadState* s) const;
  void WritePrologue(ThreadState* s, uint64_t tick);
  void WriteOwed(ThreadState* s, uint64_t tick);
  void ShowHidden(ThreadState* s, uint64_t now, uint32_t more);
  void WriteHidden(ThreadState* s, uint64_t now);
  void Lose(ThreadState* s, uint64_t tick, uint64_t code, const uint64_t* payload);
  void CountDrop(ThreadState* s, uint64_t tick);
  void Uncount(ThreadState* s);
  static void SetShared(uint32_t enabled);  // of threads without a state
  void ForgetThisThread();

  PhaseWord phase_;                        // SetPhase() -> Prepared(), Arm()
  std::atomic<uint64_t> switch_tick_{0};   // published by phase_
  std::atomic<ChunkRing*> ring_{nullptr};  // BeginSession() -> ring()
  std::atomic<uint32_t> ring_number_{0};   // rings there were: their addresses come again. As ring_
  std::atomic<uint32_t> session_{0};       // after ring_: who sees the session sees its ring
  size_t threads_cap_ = 4 << 20;
  std::atomic<uint32_t> next_track_{1};           // NewTrack() takes, AfterFork() begins again
  std::atomic<void (*)()> first_event_{nullptr};  // AfterFork() -> Prepared(), which calls it once

  Mutex<LockRank::kThreads> threads_mutex_;
  ThreadStates states_;
  uint64_t** parked_ = nullptr;            // positions in chunks that ended threads left
  std::atomic<uint32_t> parked_count_{0};  // Detach() -> AdoptParked(), which reads it without the
                                           // lock, relaxed: a hint that it checks under the lock
  uint32_t parked_room_ = 0;
  pthread_key_t key_ = 0;
  bool has_key_ = false;

  SessionStream stream_;
};

}  // namespace crosscut::record
