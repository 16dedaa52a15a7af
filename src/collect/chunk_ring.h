// The ring as its owner uses it: creation, lock-free claiming of clean chunks by recording
// threads, and the way of full chunks to the drain and back. Layout: src/format/ring.h.
//
//            Prepare, Recycle              Claim                      PushFull
//   nothing ----------------> clean ----------------> active ------------------> full
//                               ^    one thread alone   |  one thread writes        | the drain, or
//                               |                       |                           | who takes the
//                               +----------------------- Clear, MarkClean <---------+ oldest
//
// Which memory orders see to what: chunk_lists.h, and words.h for other processes, which read the
// ring at any time, without asking.
#pragma once

#include <errno.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "src/base/atomic.h"
#include "src/collect/chunk_lists.h"
#include "src/format/ring.h"

namespace crosscut::record {

// Whether a chunk was claimed so long ago (hours) that readers could take the silence since for
// a shorter one: a process that waits to be asked is silent for days. See format::TickReader.
inline bool IsStale(const uint64_t* chunk, uint64_t tick) {
  const uint64_t base = chunk[format::kChunkBaseTick];
  return tick > base && tick - base > uint64_t{1} << 44;
}

class ChunkRing {
 public:
  static constexpr uint32_t kReservedForSession = 2;  // clean chunks that threads do not get
  static constexpr uint32_t kFirstPrepared = 8;

  // Creates the file (ring_making.h), maps it and prepares the first chunks. `header`: all that the
  // session knows of itself; sizes, first numbers and magic are added here. `*mark`: a descriptor
  // that marks the file as in use while it is open, the caller's. Returns 0 or an errno; nothing
  // is left behind then. The mapping is absent in forked children.
  int Create(const char* path, uint64_t chunks, const format::RingHeader& header, int* mark);
  // Makes it a flight recorder's, before anything is recorded. Its full chunks of threads do not go
  // to the drain but wait here, and a claim that finds no clean chunk takes the oldest of them:
  // what is newest is kept, whatever the drain does.
  void KeepNewest() { keeps_newest_ = true; }
  // Puts private memory in the file's place, so that a late store of a thread harms nobody.
  void Retire();
  // Gives up a retired ring's address space.
  void Unmap();

  format::RingHeader* header() const { return reinterpret_cast<format::RingHeader*>(base_); }
  format::RingDropSlot* drop_slots() const {
    return reinterpret_cast<format::RingDropSlot*>(base_ + format::kRingPageBytes);
  }
  uint64_t* chunk(uint32_t index) const {
    return reinterpret_cast<uint64_t*>(base_ + format::kRingHeaderBytes +
                                       size_t{index} * format::kRingChunkBytes);
  }
  uint32_t chunk_count() const { return chunk_count_; }
  uint32_t prepared() const { return prepared_.load(std::memory_order_acquire); }
  uint32_t clean() const { return clean_.count(); }
  uint64_t claimed() const { return claimed_.load(std::memory_order_relaxed); }
  // No chunk is left to prepare: all are in use, or no more could be had.
  bool exhausted() const {
    return limit_errno_.load(std::memory_order_relaxed) != 0 || begun() >= chunk_count_;
  }

  // Any thread, lock-free. System calls only where no clean chunk is left and one can be prepared,
  // which it then does itself, and to call the drain, once per pass of it, where chunks run short.
  // Null when every chunk is in use, of a flight recorder by threads that write. `for_session` may
  // take the reserved ones. Leaves errno alone.
  uint64_t* Claim(uint32_t track, uint64_t tick, bool for_session);
  // The track's slot for losses of this reason; format::RingDropSlot says what holds for slots. Any
  // thread, lock-free:
  //
  //   0   1   2  ...  958  959        from 0 on: the first that is the track's with this reason,
  //   A   B   -   -    -   shared     or that is free and can be taken. 959 is for all who find
  //                                   none: it bears the reason that was stored last.
  //
  // Two threads that look for one track and reason at once may take a slot each: readers add up.
  format::RingDropSlot* DropSlotFor(uint32_t track, format::DropReason reason, uint64_t tick);
  // Whether some slot has counted a loss.
  bool HasLosses() const;
  // Whether the log holds every published word; while nobody writes.
  bool Drained() const;
  // Hands a claimed chunk to the drain. Chunks pushed by one thread are taken in that order. One of
  // another ring, where a thread was late, is left alone.
  void PushFull(uint64_t* chunk);

  // The drain only. TakeFull fills `indices` (room for chunk_count()) and returns how many.
  uint32_t TakeFull(uint32_t* indices);
  void Recycle(uint32_t index);

  // A flight recorder's chunks that wait, in the order in which they were pushed: the first one
  // among the first `pushed`, or kNone. Any thread, lock-free; who takes one must recycle it.
  static constexpr uint32_t kNone = WaitingChunks::kNone;
  uint32_t TakeOldest(uint64_t pushed = UINT64_MAX >> 2) {
    return waiting_.TakeOldest(pushed, begun());
  }
  uint32_t waiting() const { return waiting_.count(begun()); }
  uint64_t pushed() const { return waiting_.added(); }
  // Recycles a taken chunk whose events are not wanted: the drop slots count those that the log
  // does not hold.
  void Overwrite(uint32_t index);
  // The drain only. Between the two nobody takes the chunk, though it may become full: what its
  // state was after Hold() is true until Release().
  void Hold(const uint64_t* chunk) { waiting_.Hold(IndexOf(chunk)); }
  void Release(const uint64_t* chunk) { waiting_.Release(IndexOf(chunk)); }

  // Makes `more` further chunks usable: space allocated, pages present, marked clean. Any thread.
  void Prepare(uint32_t more);
  // The futex that CallDrain() bumps, once until AnswerCall(), which says whether it did. Claim()
  // calls where chunks run short.
  void SetDrain(std::atomic<uint32_t>* wake) { wake_.store(wake); }
  void CallDrain();
  // Nobody empties it and nothing more is prepared: no call of it is a system call from then on.
  void StandAlone() {
    wake_.store(nullptr);
    limit_errno_.store(EPERM);
  }
  bool AnswerCall() { return called_.exchange(false, std::memory_order_relaxed); }

 private:
  bool Short() const;
  bool PrepareOne();
  uint64_t* Begin(uint64_t* chunk, uint32_t track, uint64_t tick);
  void CountOverwritten(uint32_t index);
  void MarkClean(uint32_t index);
  // So many chunks were begun to be prepared.
  uint32_t begun() const { return next_.load(std::memory_order_relaxed); }
  bool Contains(const uint64_t* chunk) const;
  uint32_t IndexOf(const uint64_t* chunk) const;
  size_t TableBytes() const;

  char* base_ = nullptr;
  size_t bytes_ = 0;
  uint32_t chunk_count_ = 0;
  void* tables_ = nullptr;  // of the lists
  CleanChunks clean_;
  FullChunks full_;
  bool keeps_newest_ = false;
  WaitingChunks waiting_;
  std::atomic<uint32_t> next_{0};      // the next chunk to prepare: who gets it alone, so relaxed
  std::atomic<uint32_t> prepared_{0};  // how many are, pages and all. PrepareOne() -> prepared()
  // Hints, all relaxed: who is wrong about them tries once more or calls the drain in vain.
  std::atomic<uint64_t> claimed_{0};
  std::atomic<int> limit_errno_{0};
  std::atomic<std::atomic<uint32_t>*> wake_{nullptr};  // a futex: the kernel orders
  std::atomic<bool> called_{false};
};

}  // namespace crosscut::record
