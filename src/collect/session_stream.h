// The session's own stream: the table of names, facts, anchors of the clock and the session's
// edges, in ring chunks of their own (track 0). Any thread may write to it, under its lock; a
// thread's events never take that lock.
//
//   names_          every name that was ever interned: it outlives sessions and forks
//   chunk, position where the next word goes; a full chunk goes to the drain
//
// A name is published here before any event carries its id. The ring takes names of up to 48 KiB;
// longer ones the drain writes straight into the log, and Intern() waits until it has.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/collect/chunk_ring.h"
#include "src/collect/names.h"

namespace crosscut::record {

class SessionStream {
 public:
  // Once, when the library is loaded: the name for what has none.
  void Init();
  uint32_t unnamed() const { return unnamed_.load(std::memory_order_relaxed); }

  // ---- Names: any thread ----
  // The id under which (text, attributes) is published; 0 if there is no room.
  uint32_t Intern(std::string_view text, uint64_t attributes);
  // That under which a span of the name goes on (format::kFlagGoesOn); 0 if there is no room.
  uint32_t GoesOn(uint32_t name);
  // Its attributes; those of a plain span where there is no such name.
  format::NameAttributes KindOf(uint64_t name) const;
  const Names& names() const { return names_; }
  // All names again, for a new log.
  void PublishAllNames();

  // ---- Writing: any thread. False: there was no room ----
  bool WriteMeta(std::string_view key, std::string_view value);
  bool Write(uint64_t tick, uint64_t code, const uint64_t* payload, uint32_t n);
  // False also where another thread writes just now; never waits.
  bool TryWrite(uint64_t tick, uint64_t code, const uint64_t* payload, uint32_t n);

  // ---- For the recorder ----
  // A session begins on `ring`, which may be the one of the session before. At most so many bytes
  // of names.
  void Begin(ChunkRing* ring, size_t names_cap);
  // In a forked child: the parent's chunk is forgotten, names stay.
  void AfterFork();

  // ---- For the drain ----
  // The chunk that is being written; null: none.
  uint64_t* chunk() const { return chunk_.load(std::memory_order_acquire); }
  // Whether the drain writes a name that is too long for a ring chunk; it says how far it got.
  static bool GoesByTheDrain(const NameEntry& name);
  void SetLongNamesWritten(uint32_t up_to) { long_names_written_.store(up_to); }
  void SetDrainRuns(bool runs) { drain_runs_.store(runs); }

 private:
  ChunkRing* ring() const { return ring_.load(std::memory_order_acquire); }
  // Room for so many words, with the lock held; null: none.
  uint64_t* Reserve(uint64_t tick, uint32_t words, bool wait);
  void Commit(uint64_t* at, uint64_t tick, uint64_t code, uint32_t words);
  bool PublishName(uint32_t id);
  void AwaitDrainedName(uint32_t id);

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<ChunkRing*> ring_{nullptr};  // Begin() -> ring()
  Names names_;
  size_t names_cap_ = 4 << 20;
  std::atomic<uint64_t*> chunk_{nullptr};  // Reserve() -> chunk(), the drain
  uint64_t* position_ = nullptr;
  std::atomic<uint32_t> long_names_written_{0};  // the drain -> AwaitDrainedName()
  std::atomic<bool> drain_runs_{false};          // the drain -> who would wait for it
  std::atomic<uint32_t> unnamed_{0};             // Init(), before there is another thread
};

}  // namespace crosscut::record
