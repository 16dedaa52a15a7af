// The session's own stream: the table of names, facts, anchors of the clock and the session's
// edges, in ring chunks of their own (track 0). Any thread may write to it, under its lock; a
// thread's events never take that lock.
//
//   names_          every name that was ever interned: it outlives sessions and forks
//   chunk, position where the next word goes; a full chunk goes to the drain
//
// A name is published here before any event carries its id. Where the ring has no room for its
// text, or the text is longer than 48 KiB, the drain writes it straight into the log, before any
// event that may need it; until then it counts as a loss, which it is if the process dies. Nobody
// waits for room with the lock held, and nobody waits for the room of a name.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/collect/chunk_ring.h"
#include "src/collect/lock.h"
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

  // ---- Writing: any thread. False: there was no room, nor did the drain make any in time ----
  bool WriteMeta(std::string_view key, std::string_view value);
  bool Write(uint64_t tick, uint64_t code, const uint64_t* payload, uint32_t n);
  // Never waits for room.
  bool TryWrite(uint64_t tick, uint64_t code, const uint64_t* payload, uint32_t n);

  // ---- For the recorder ----
  // A session begins on `ring`, which may be the one of the session before. At most so many bytes
  // of names.
  void Begin(ChunkRing* ring, size_t names_cap);
  // Its ring goes: names wait for the next one, and facts have no log.
  void LeaveRing();
  // In a forked child: the parent's chunk is forgotten, names stay.
  void AfterFork();

  // ---- For the drain ----
  // The chunk that is being written; null: none.
  uint64_t* chunk() const { return chunk_.load(std::memory_order_acquire); }
  // While nobody writes: visits that chunk, those before it being in the list of full ones. Names
  // that the ring has no room for are the drain's from here on until it has written them.
  template <class Visit>
  void Cut(Visit visit) {
    const Lock lock(&mutex_);
    visit(chunk());
    drain_writes_ = published_.load(std::memory_order_relaxed) < names_.count();
  }
  // The next name that the drain writes into the log, 0: none; and whether it could.
  uint32_t TakeUnpublished();
  void Published(bool written);
  // Whether somebody makes room: else nobody waits for it.
  void SetDrainRuns(bool runs) { drain_runs_.store(runs); }

 private:
  ChunkRing* ring() const { return ring_.load(std::memory_order_acquire); }
  // An event of so many words; `fill` stores those behind the first. With `waits`, once until room
  // is found again, for the drain.
  template <class Fill>
  bool Append(uint64_t tick, uint64_t code, uint32_t words, bool waits, Fill fill);
  // With the lock held: room for so many words, null where there is none. Names leave the chunks
  // that are kept for the session to its edges and facts.
  uint64_t* Reserve(uint64_t tick, uint32_t words, bool name);
  void Commit(uint64_t* at, uint64_t tick, uint64_t code, uint32_t words);
  void PublishNames();
  bool PublishName(uint32_t id);
  void TellUnpublished();
  void AwaitLongName(uint32_t id);

  Mutex<LockRank::kStream> mutex_;
  std::atomic<ChunkRing*> ring_{nullptr};  // Begin() -> ring()
  Names names_;
  size_t names_cap_ = 4 << 20;
  std::atomic<uint64_t*> chunk_{nullptr};  // Reserve() -> chunk(), the drain
  uint64_t* position_ = nullptr;
  // How many names are in ring or log; the rest was counted as so many losses. Changed under the
  // lock. PublishNames(), Published() -> AwaitLongName()
  std::atomic<uint32_t> published_{0};
  uint32_t told_ = 0;
  bool drain_writes_ = false;            // a name
  std::atomic<bool> drain_runs_{false};  // the drain -> who would wait for it
  std::atomic<bool> stalled_{false};     // somebody has waited in vain since there was room last
  std::atomic<uint32_t> unnamed_{0};     // Init(), before there is another thread
};

}  // namespace crosscut::record
