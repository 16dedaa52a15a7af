// The recording side of the process: every thread's way from an event to a published word.
//
// The inline path of crosscut.h ends here whenever it cannot go on: first event of a thread, end
// of a chunk, control steps, pauses, a full ring. Nothing here locks or allocates after a thread's
// first event, and nothing makes a system call but a claim that finds the drain too late with clean
// chunks (ChunkRing::Claim). A thread's own stream is written by that thread alone. The session
// stream (names, anchors, facts) is written under a lock.
//
// Phases. Off: every thread's `enabled` is 0. On: 1 (2 until the thread has its chunk). Hidden
// (control steps and pauses): 2; begins are only remembered, ends of spans begun before are
// written. Closing (stopped, but plugins still hand over what they hold): 0, and only Push()
// writes. Every switch makes a new phase word, which threads compare after they arm themselves:
//
//   the session:  phase_ = off     then  enabled = 0
//   a thread:     enabled = 1      then  phase_ is another word? enabled = 2
//
// All four are seq_cst, so that whoever is second sees the other: no thread marks inline once
// recording is off (litmus_test.cc, Phases). The inline path itself reads `enabled` relaxed: a mark
// that is late by a moment is one of before.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/collect/chunk_ring.h"
#include "src/collect/names.h"
#include "src/collect/thread_state.h"

namespace crosscut::record {

enum class Phase : uint64_t { kOff = 0, kOn = 1, kHidden = 2, kClosing = 3 };

class Recorder {
 public:
  // The process's one recorder: never destroyed.
  static Recorder& Get();

  // Once, when the library is loaded: the pages that forks wipe, the name for what has none.
  void Init();
  uint32_t unnamed() const { return unnamed_.load(std::memory_order_relaxed); }

  // ---- Marking: any thread ----
  void Mark(uint64_t code, const uint64_t* payload, uint32_t n);
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
  // The calling thread's track, attaching it if need be; 0 if it has none.
  uint32_t TrackOfThisThread();

  // ---- Names and the session stream: any thread ----
  // The id under which (text, attributes) is published; 0 if there is no room.
  uint32_t Intern(std::string_view text, uint64_t attributes);
  // That under which a span of the name goes on (format::kFlagGoesOn); 0 if there is no room.
  uint32_t GoesOn(uint32_t name);
  // Its attributes; those of a plain span where there is no such name.
  format::NameAttributes KindOf(uint64_t name) const;
  bool WriteMeta(std::string_view key, std::string_view value);
  // Try: false also where another thread writes just now; never waits.
  bool TryWriteSession(uint64_t tick, uint64_t code, const uint64_t* payload, uint32_t n);
  bool WriteSession(uint64_t tick, uint64_t code, const uint64_t* payload, uint32_t n);
  // All names again, for a new log.
  void PublishAllNames();

  // ---- Phases: one caller at a time (the session's lock) ----
  // A new session on `ring`, which may be the one of the session before. Phase stays off.
  // False: no memory.
  bool BeginSession(ChunkRing* ring, size_t memory_cap);
  void SetPhase(Phase phase, uint64_t tick);
  Phase phase() const { return static_cast<Phase>(phase_.load(std::memory_order_acquire) & 3); }
  ChunkRing* ring() const { return ring_.load(std::memory_order_acquire); }
  // Whether a thread is inside a mark right now, or was put aside there: it may store late into a
  // ring that was retired.
  bool SomeThreadMarks();
  uint32_t session() const { return session_.load(std::memory_order_acquire); }

  // ---- For the drain ----
  // Visits every chunk that is being written or parked, the session's first. Threads may go on
  // writing; the drain alone recycles, so the chunks stay valid (a flight recorder's once they are
  // held).
  template <class Visit>
  void ForEachOpenChunk(Visit visit) {
    if (uint64_t* at = stream_chunk_.load(std::memory_order_acquire)) visit(at);
    pthread_mutex_lock(&threads_mutex_);
    states_.ForEach([&](ThreadState* s) {
      uint64_t* at = std::atomic_ref(s->chunk).load(std::memory_order_acquire);
      if (at != nullptr && std::atomic_ref(s->session).load() == session()) visit(at);
    });
    for (uint32_t i = 0; i < parked_count_; ++i) visit(ChunkOf(parked_[i]));
    pthread_mutex_unlock(&threads_mutex_);
  }
  uint64_t* stream_chunk() const { return stream_chunk_.load(std::memory_order_acquire); }
  // A track of our own (the drain's).
  uint32_t NewTrack() { return next_track_.fetch_add(1); }
  const Names& names() const { return names_; }
  // Names too long for a ring chunk are written by the drain: it says how far it got.
  static bool GoesByTheDrain(const NameEntry& name);
  void SetLongNamesWritten(uint32_t up_to) { long_names_written_.store(up_to); }
  void SetDrainRuns(bool runs) { drain_runs_.store(runs); }

  // ---- For calibration ----
  // Until LeaveScratch the calling thread marks into a chunk of its own that nobody reads. Null:
  // no memory, or the thread is already there.
  ThreadState* EnterScratch();
  void LeaveScratch(ThreadState* scratch);
  static void ResetScratch(ThreadState* scratch);
  // The calling thread records nothing until its pointer, which is returned, is put back.
  static crosscut_thread* SuspendThisThread();
  static bool ThisThreadIsSuspended();

  // ---- Fork ----
  // In the child: everything of the parent's session is forgotten; interned names stay. With
  // `on_first_event` the next event of this thread calls it first.
  void AfterFork(void (*on_first_event)());

  size_t memory_bytes() const;
  static void CountShared(uint8_t reason);
  static void ThreadEnds(void* state);  // pthread key destructor

 private:
  static uint64_t* ChunkOf(uint64_t* position) {
    return reinterpret_cast<uint64_t*>(reinterpret_cast<uintptr_t>(position) &
                                       ~uintptr_t{format::kRingChunkBytes - 1});
  }
  // The calling thread's state, in this session; null where it must not write.
  ThreadState* Prepared(uint64_t* phase, bool while_closing = false);
  static bool InScratch();
  ThreadState* Attach();
  void Detach(ThreadState* s);
  void EnterSession(ThreadState* s);
  void Arm(ThreadState* s, uint64_t phase);
  bool Emit(ThreadState* s, uint64_t tick, uint64_t code, const uint64_t* payload, uint32_t n);
  bool Room(ThreadState* s, uint64_t tick, size_t words);
  void Adopt(ThreadState* s, uint64_t* chunk, uint64_t* position);
  uint64_t* TakeParked(size_t words);
  size_t PrologueWords(const ThreadState* s) const;
  void WritePrologue(ThreadState* s, uint64_t tick);
  void WriteOwed(ThreadState* s, uint64_t tick);
  void ShowHidden(ThreadState* s, uint64_t now, uint32_t more);
  void WriteHidden(ThreadState* s, uint64_t now);
  bool Hide(ThreadState* s, uint64_t code, const uint64_t* payload);
  bool HideEnd(ThreadState* s);
  bool HideEndNamed(ThreadState* s, uint64_t name);
  static void Forget(ThreadState* s, uint32_t hidden);
  void Lose(ThreadState* s, uint64_t tick, uint64_t code, const uint64_t* payload);
  void CountDrop(ThreadState* s, uint64_t tick);
  void Uncount(ThreadState* s);
  uint64_t* StreamReserve(uint64_t tick, uint32_t words, bool wait);
  void StreamCommit(uint64_t* at, uint64_t tick, uint64_t code, uint32_t words);
  bool PublishName(uint32_t id);
  void AwaitDrainedName(uint32_t id);
  static void SetShared(uint32_t enabled);  // of threads without a state
  void ForgetThisThread();

  std::atomic<uint64_t> phase_{0};         // serial << 2 | Phase. SetPhase() -> Prepared(), Arm()
  std::atomic<uint64_t> switch_tick_{0};   // published by phase_
  std::atomic<ChunkRing*> ring_{nullptr};  // BeginSession() -> ring()
  std::atomic<uint32_t> ring_number_{0};   // rings there were: their addresses come again
  std::atomic<uint32_t> session_{0};       // after ring_: who sees the session sees its ring
  size_t names_cap_ = 4 << 20;
  size_t threads_cap_ = 4 << 20;
  std::atomic<uint32_t> next_track_{1};
  std::atomic<void (*)()> first_event_{nullptr};

  pthread_mutex_t threads_mutex_ = PTHREAD_MUTEX_INITIALIZER;
  ThreadStates states_;
  uint64_t** parked_ = nullptr;            // positions in chunks that ended threads left
  std::atomic<uint32_t> parked_count_{0};  // read without the lock, too
  uint32_t parked_room_ = 0;
  pthread_key_t key_ = 0;
  bool has_key_ = false;

  pthread_mutex_t stream_mutex_ = PTHREAD_MUTEX_INITIALIZER;
  Names names_;
  std::atomic<uint64_t*> stream_chunk_{nullptr};
  uint64_t* stream_position_ = nullptr;
  std::atomic<uint32_t> long_names_written_{0};
  std::atomic<bool> drain_runs_{false};
  std::atomic<uint32_t> unnamed_{0};
};

}  // namespace crosscut::record
