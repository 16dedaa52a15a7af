#include "src/collect/scratch.h"

#include "src/collect/clock.h"
#include "src/collect/memory.h"
#include "src/collect/slow_path.h"

namespace crosscut::record {
namespace {

using format::kRingChunkBytes;
using format::kRingChunkHeaderWords;

constexpr size_t kScratchBytes = 2 * kRingChunkBytes + kPageBytes;

}  // namespace

bool InScratch() {
  crosscut_thread* thread = crosscut_this_thread;
  return thread != OffState() && thread != EndedState() &&
         static_cast<ThreadState*>(thread)->scratch;
}

ThreadState* EnterScratch() {
  if (InScratch()) return nullptr;
  char* memory = static_cast<char*>(MapPages(kScratchBytes, /*wipe_on_fork=*/true));
  if (memory == nullptr) return nullptr;
  const uintptr_t aligned =
      (reinterpret_cast<uintptr_t>(memory) + kRingChunkBytes - 1) & ~uintptr_t{kRingChunkBytes - 1};
  // The state stands where the chunk does not: before or behind it.
  char* at = aligned - reinterpret_cast<uintptr_t>(memory) >= sizeof(ThreadState)
                 ? memory
                 : reinterpret_cast<char*>(aligned + kRingChunkBytes);
  auto* scratch = reinterpret_cast<ThreadState*>(at);
  scratch->scratch = true;
  scratch->chunk = reinterpret_cast<uint64_t*>(aligned);
  scratch->next_free = reinterpret_cast<ThreadState*>(memory);
  scratch->real = crosscut_this_thread;
  ResetScratch(scratch);
  SetEnabled(scratch, ClockIsInline() ? 1 : 2);
  crosscut_this_thread = scratch;
  return scratch;
}

crosscut_thread* SuspendThisThread() {
  crosscut_thread* real = crosscut_this_thread;
  crosscut_this_thread = &suspended_state;
  return real;
}

bool ThisThreadIsSuspended() { return crosscut_this_thread == &suspended_state; }

void LeaveScratch(ThreadState* scratch) {
  crosscut_this_thread = scratch->real;
  UnmapPages(scratch->next_free, kScratchBytes);
}

void ResetScratch(ThreadState* scratch) {
  scratch->position = scratch->chunk + kRingChunkHeaderWords;
}

}  // namespace crosscut::record
