// The recorder's session side: phases and forks.
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/base/fault_point.h"
#include "src/collect/clock.h"
#include "src/collect/memory.h"
#include "src/collect/recorder.h"
#include "src/collect/slow_path.h"
#include "src/collect/words.h"

namespace crosscut::record {
namespace {

// Behind it every thread that has seen `enabled` as it was before shows its `busy`: the mark stores
// that first. False where the kernel has no such call or a filter forbids it.
bool BarrierOnAllThreads() {
  const int before = errno;
  const auto call = [](int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; };
  const bool done = call(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
                    (errno == EPERM && call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
                     call(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
  errno = before;
  return done;
}

}  // namespace

// ---- Phases -------------------------------------------------------------------------------------

bool Recorder::BeginSession(ChunkRing* ring, size_t memory_cap) {
  const SlowPath guard;  // a signal handler's first mark on this thread takes the lock, too
  const Lock threads(&threads_mutex_);
  threads_cap_ = memory_cap / 16;
  if (ring != ring_.load()) {
    const size_t bytes = size_t{ring->chunk_count()} * sizeof(uint64_t*);
    auto** parked = static_cast<uint64_t**>(MapPages(bytes));
    if (parked == nullptr) return false;
    UnmapPages(parked_, parked_room_ * sizeof(uint64_t*));
    parked_ = parked;
    parked_room_ = ring->chunk_count();
    parked_count_ = 0;
    ring_number_.fetch_add(1);
    ring_.store(ring);
  }
  stream_.Begin(ring, memory_cap / 16 * 2);
  session_.fetch_add(1);
  return true;
}

void Recorder::SetPhase(Phase phase, uint64_t tick) {
  switch_tick_.store(tick);
  phase_.Switch(phase, [=, this](uint32_t enabled) {
    if (CROSSCUT_FAULT("session.phase")) return;
    SetShared(enabled);
    const SlowPath guard;  // as above
    const Lock lock(&threads_mutex_);
    states_.ForEach([=](ThreadState* s) {
      if (phase == Phase::kOn) SetOnTick(s, tick);
      SetEnabled(s, enabled);
    });
  });
}

bool Recorder::SomeThreadMarks() {
  const SlowPath guard;
  if (!BarrierOnAllThreads()) return true;
  const crosscut_thread* self = crosscut_this_thread;
  const Lock lock(&threads_mutex_);
  bool some = false;
  states_.ForEach([&](const ThreadState* s) { some = some || (s != self && StillMarks(s)); });
  return some;
}

// ---- Fork ---------------------------------------------------------------------------------------

void Recorder::AfterFork(void (*on_first_event)()) {
  phase_.Switch(Phase::kOff, [](uint32_t) {});  // the states are wiped
  ring_.store(nullptr);
  states_.AfterFork();
  stream_.AfterFork();
  parked_count_ = 0;
  next_track_.store(1);
  ForgetThisThread();
  first_event_.store(on_first_event);
  SetShared(on_first_event != nullptr ? 2 : 0);
}

size_t Recorder::memory_bytes() const {
  const ChunkRing* ring = this->ring();
  return MappedBytes() + (ring == nullptr ? 0 : size_t{ring->prepared()} * format::kRingChunkBytes);
}

int Recorder::OsIdOfThisThread() {
  if (Get().TrackOfThisThread() == 0) return 0;
  return static_cast<const ThreadState*>(crosscut_this_thread)->os_id;
}

uint64_t Recorder::WordsOfThisThread() {
  if (Get().TrackOfThisThread() == 0) return 0;
  const auto* s = static_cast<const ThreadState*>(crosscut_this_thread);
  if (s->chunk == nullptr) return s->chunks * format::kRingChunkWords;
  return s->chunks * format::kRingChunkWords + static_cast<uint64_t>(s->position - s->chunk);
}

}  // namespace crosscut::record
