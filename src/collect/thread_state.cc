#include "src/collect/thread_state.h"

#include <string.h>

#include "src/collect/memory.h"

namespace crosscut::record {

ThreadState* ThreadStates::Take(size_t cap_bytes) {
  if (free_ == nullptr) {
    if (slab_count_ == kSlabs || (slab_count_ + 1) * kSlabBytes > cap_bytes) return nullptr;
    void* slab = MapPages(kSlabBytes, /*wipe_on_fork=*/true);
    if (slab == nullptr) return nullptr;
    slabs_[slab_count_] = static_cast<ThreadState*>(slab);
    FreeSlab(slab_count_++);
  }
  ThreadState* state = free_;
  free_ = state->next_free;
  memset(static_cast<void*>(state), 0, sizeof *state);
  state->in_use = true;
  return state;
}

void ThreadStates::Give(ThreadState* state) {
  state->in_use = false;
  state->next_free = free_;
  free_ = state;
}

void ThreadStates::FreeSlab(uint32_t slab) {
  for (uint32_t i = kSlabStates; i-- > 0;) {
    slabs_[slab][i].next_free = free_;
    free_ = &slabs_[slab][i];
  }
}

void ThreadStates::AfterFork() {
  free_ = nullptr;
  for (uint32_t s = 0; s < slab_count_; ++s) FreeSlab(s);
}

}  // namespace crosscut::record
