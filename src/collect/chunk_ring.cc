#include "src/collect/chunk_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "src/base/fault_point.h"
#include "src/collect/memory.h"
#include "src/collect/ring_making.h"
#include "src/collect/words.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace crosscut::record {
namespace {

using format::kRingChunkBytes;
using format::kRingHeaderBytes;

// Present and backed by space, or an errno; never SIGBUS. ENOSYS: this kernel cannot tell.
int Populate(void* at, size_t bytes) {
  if (CROSSCUT_FAULT("ring.populate")) return ENOSPC;
  if (madvise(at, bytes, MADV_POPULATE_WRITE) == 0) return 0;
  if (errno == EINVAL) return ENOSYS;
  return errno == EFAULT ? ENOSPC : errno;
}

// Before Linux 5.14: all space at once, so that no store can meet a full file system.
int AllocateAll(int fd, size_t bytes) { return posix_fallocate(fd, 0, static_cast<off_t>(bytes)); }

// A shared mapping of `fd` at an address aligned to a chunk, or null with errno.
char* MapAligned(int fd, size_t bytes) {
  char* space = static_cast<char*>(mmap(nullptr, bytes + kRingChunkBytes, PROT_NONE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (space == MAP_FAILED) return nullptr;
  const auto address = reinterpret_cast<uintptr_t>(space);
  char* base = space + (-address & (kRingChunkBytes - 1));
  if (base != space) munmap(space, base - space);
  char* end = space + bytes + kRingChunkBytes;
  if (end != base + bytes) munmap(base + bytes, end - (base + bytes));
  void* at = mmap(base, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
  if (at == MAP_FAILED) {
    const int error = errno;
    munmap(base, bytes);
    errno = error;
    return nullptr;
  }
  (void)madvise(base, bytes, MADV_DONTFORK);
  return base;
}

}  // namespace

int ChunkRing::Create(const char* path, uint64_t chunks, const format::RingHeader& facts,
                      int* mark) {
  if (CROSSCUT_FAULT("ring.create")) return ENOSPC;
  chunk_count_ = static_cast<uint32_t>(chunks);
  bytes_ = kRingHeaderBytes + chunks * kRingChunkBytes;
  format::RingHeader header = facts;
  header.version = format::kFormatVersion;
  header.header_bytes = kRingHeaderBytes;
  header.chunk_count = chunks;
  header.next_fill = 1;
  header.first_fill = 1;
  NewRingFile file;
  int error = MakeRingFile(path, bytes_, &header, &file);
  if (error != 0) return error;
  if (CROSSCUT_FAULT("ring.named")) error = ENOSPC;
  base_ = error == 0 ? MapAligned(file.map, bytes_) : nullptr;
  if (error == 0 && base_ == nullptr) error = errno;
  if (error == 0) error = Populate(base_, kRingHeaderBytes);
  if (error == ENOSYS) error = AllocateAll(file.map, bytes_);
  close(file.map);
  char* tables = error == 0 ? static_cast<char*>(MapPages(TableBytes())) : nullptr;
  if (error == 0 && tables == nullptr) error = ENOMEM;
  if (error == 0) {
    tables_ = tables;
    auto* words = reinterpret_cast<sync::Atomic<uint64_t>*>(tables);
    waiting_.Init(words);
    clean_.Init(words + chunk_count_, chunk_count_);
    words += chunk_count_ + CleanChunks::Words(chunk_count_);
    full_.Init(reinterpret_cast<sync::Atomic<uint32_t>*>(words));
    Prepare(kFirstPrepared);
    const int limit = limit_errno_.load();
    if (prepared() < 3) error = limit != 0 ? limit : ENOSPC;
  }
  if (error != 0) {
    if (base_ != nullptr) munmap(base_, bytes_);
    if (tables != nullptr) UnmapPages(tables, TableBytes());
    base_ = nullptr;
    unlink(path);
    close(file.mark);
    return error;
  }
  *mark = file.mark;
  return 0;
}

void ChunkRing::Retire() {
  if (base_ == nullptr) return;
  // What a thread still marks may go to either mapping: by the system call, as ThreadSanitizer
  // takes the C library's for a write of all of it.
  syscall(SYS_mmap, base_, bytes_, PROT_READ | PROT_WRITE,
          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

void ChunkRing::Unmap() {
  if (base_ == nullptr) return;
  munmap(base_, bytes_);
  UnmapPages(tables_, TableBytes());
  base_ = nullptr;
}

size_t ChunkRing::TableBytes() const {
  return size_t{CleanChunks::Words(chunk_count_)} * 8 + size_t{chunk_count_} * 12;
}

bool ChunkRing::Contains(const uint64_t* at) const {
  return at >= chunk(0) && at < chunk(chunk_count_);
}

uint32_t ChunkRing::IndexOf(const uint64_t* chunk) const {
  const auto offset = reinterpret_cast<const char*>(chunk) - base_ - kRingHeaderBytes;
  return static_cast<uint32_t>(static_cast<size_t>(offset) / kRingChunkBytes);
}

uint64_t* ChunkRing::Claim(uint32_t track, uint64_t tick, bool for_session) {
  const uint32_t reserved = for_session ? 0 : kReservedForSession;
  while (!clean_.TakeCount(reserved)) {
    const bool more = PrepareOne();
    CallDrain();
    if (more) continue;
    const uint32_t oldest = keeps_newest_ ? TakeOldest() : kNone;
    if (oldest == kNone) return nullptr;
    CountOverwritten(oldest);
    ClearChunk(chunk(oldest), format::kRingChunkWords);
    return Begin(chunk(oldest), track, tick);
  }
  if (Short()) CallDrain();
  return Begin(chunk(clean_.Take()), track, tick);
}

// The chunk is the caller's, and all zero behind its header.
uint64_t* ChunkRing::Begin(uint64_t* at, uint32_t track, uint64_t tick) {
  // Each number once, whoever claims: the addition alone does that. The state below publishes it.
  const uint64_t fill = std::atomic_ref(header()->next_fill).fetch_add(1);
  claimed_.fetch_add(1, std::memory_order_relaxed);
  BeginChunk(at, fill, tick, track);
  return at;
}

bool ChunkRing::Short() const {
  return clean() + (chunk_count_ - begun()) < chunk_count_ / 8 + kReservedForSession;
}

void ChunkRing::CallDrain() {
  std::atomic<uint32_t>* wake = wake_.load();
  if (wake == nullptr || called_.exchange(true, std::memory_order_relaxed)) return;
  const int saved = errno;
  wake->fetch_add(1);
  syscall(SYS_futex, wake, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
  errno = saved;
}

format::RingDropSlot* ChunkRing::DropSlotFor(uint32_t track, format::DropReason reason,
                                             uint64_t tick) {
  format::RingDropSlot* slots = drop_slots();
  const uint64_t key = uint64_t{track} + 1;
  for (size_t i = 0; i + 1 < format::kRingDropSlots; ++i) {
    const uint64_t has = format::RingLoad(slots[i].track);
    if (has == key && format::RingLoad(slots[i].reason) == reason) return &slots[i];
    uint64_t empty = 0;
    if (has != 0 || !std::atomic_ref(slots[i].track).compare_exchange_strong(empty, key)) continue;
    format::RingStore<uint64_t>(slots[i].reason, reason);
    format::RingStore(slots[i].first_tick, tick);
    return &slots[i];
  }
  format::RingDropSlot* shared = &slots[format::kRingDropSlots - 1];
  uint64_t empty = 0;
  if (std::atomic_ref(shared->track)
          .compare_exchange_strong(empty, uint64_t{format::kRingSharedDropTrack} + 1)) {
    format::RingStore(shared->first_tick, tick);
  }
  format::RingStore<uint64_t>(shared->reason, reason);
  return shared;
}

// DropSlotFor(), Recorder::Detach() -> here.
bool ChunkRing::HasLosses() const {
  const format::RingDropSlot* slots = drop_slots();
  return std::any_of(slots, slots + format::kRingDropSlots, [](const format::RingDropSlot& slot) {
    return format::RingLoad(slot.count) != 0;
  });
}

// The state is of Begin(), PushFull() and Clear(), the drained end of Drain::AppendPart(); each is
// a release, and so are the words (PublishedEnd).
bool ChunkRing::Drained() const {
  for (uint32_t i = 0; i < prepared(); ++i) {
    const uint64_t* at = chunk(i);
    const auto state = format::ChunkState(format::RingLoad(at[format::kChunkState]));
    if (state < format::kChunkActive) continue;
    size_t from = format::RingLoad(at[format::kChunkDrained]);
    if (from < format::kRingChunkHeaderWords) from = format::kRingChunkHeaderWords;
    if (format::PublishedEnd(at, from) > from) return false;
  }
  return true;
}

void ChunkRing::PushFull(uint64_t* at) {
  if (!Contains(at)) return;
  const uint32_t index = IndexOf(at);
  // Of Begin(): this thread's own, or of who parked the chunk, under the threads lock.
  const uint64_t state = format::RingLoad(at[format::kChunkState]);
  if (format::ChunkState(state) != format::kChunkActive) return;  // in the list twice: a circle
  const bool waits = keeps_newest_ && at[format::kChunkTrack] != 0;
  SetChunkState(at, format::kChunkFull);
  if (waits) {
    waiting_.Add(index);
  } else {
    full_.Add(index);
  }
}

uint32_t ChunkRing::TakeFull(uint32_t* indices) { return full_.TakeAll(indices, chunk_count_); }

void ChunkRing::CountOverwritten(uint32_t index) {
  const uint64_t* at = chunk(index);
  size_t from = at[format::kChunkDrained];
  if (from < format::kRingChunkHeaderWords) from = format::kRingChunkHeaderWords;
  const size_t end = format::PublishedEnd(at);
  format::TickReader ticks(at[format::kChunkBaseTick]);
  auto track = static_cast<uint32_t>(at[format::kChunkTrack]);
  uint64_t events = 0, tick = 0;
  format::RingDropSlot* slot = nullptr;
  const auto tell = [&] {  // any thread, so not by load and store: format::RingDropSlot
    if (events == 0) return;
    format::RingStore(slot->last_tick, tick);
    std::atomic_ref(slot->count).fetch_add(events);
    events = 0;
  };
  for (size_t i = format::kRingChunkHeaderWords, n = 0; i < end; i += n) {
    n = format::EventLength({at, end}, i);
    if (n == 0) break;
    const uint16_t code = at[i] & format::kCodeMask;
    const uint64_t now = ticks.Next(at[i]);
    if (code == format::kThread) {
      tell();
      track = static_cast<uint32_t>(at[i + 1]);
    } else if (i >= from && code != format::kDrop && code != format::kThreadEnd) {
      tick = now;
      if (events++ == 0) slot = DropSlotFor(track, format::kDropOverwritten, tick);
    }
  }
  tell();
}

void ChunkRing::Overwrite(uint32_t index) {
  CountOverwritten(index);
  Recycle(index);
}

void ChunkRing::Recycle(uint32_t index) {
  ClearChunk(chunk(index), format::kRingChunkWords);
  MarkClean(index);
}

void ChunkRing::MarkClean(uint32_t index) {
  SetChunkState(chunk(index), format::kChunkClean);
  clean_.Add(index);
}

bool ChunkRing::PrepareOne() {
  if (limit_errno_.load(std::memory_order_relaxed) != 0) return false;
  uint32_t next = begun();
  do {
    if (next >= chunk_count_) return false;
  } while (!next_.compare_exchange_weak(next, next + 1, std::memory_order_relaxed));
  const int saved = errno;
  const int error = Populate(chunk(next), kRingChunkBytes);
  errno = saved;
  if (error != 0 && error != ENOSYS) {
    limit_errno_.store(error, std::memory_order_relaxed);
    return false;
  }
  prepared_.fetch_add(1, std::memory_order_release);
  MarkClean(next);
  return true;
}

void ChunkRing::Prepare(uint32_t more) {
  while (more-- > 0 && PrepareOne()) {
  }
}

}  // namespace crosscut::record
