#include "src/collect/slow_path.h"

#include <sys/mman.h>

#include "src/collect/memory.h"

namespace crosscut::record {
namespace {

alignas(kPageBytes) char shared_page[kPageBytes];

__thread bool in_slow_path __attribute__((tls_model("initial-exec"))) = false;

bool IsOwn(const crosscut_thread* thread) {
  return thread != OffState() && thread != EndedState() && thread != &suspended_state;
}

}  // namespace

constinit ThreadState suspended_state = {};

crosscut_thread* OffState() { return reinterpret_cast<crosscut_thread*>(shared_page); }
crosscut_thread* EndedState() { return reinterpret_cast<crosscut_thread*>(shared_page + 256); }

void WipeSharedStatesOnFork() { (void)madvise(shared_page, kPageBytes, MADV_WIPEONFORK); }

void SayThatSessionIsHere() { __atomic_store_n(&shared_page[512], 1, __ATOMIC_RELAXED); }
bool IsSessionHere() { return __atomic_load_n(&shared_page[512], __ATOMIC_RELAXED) != 0; }

SlowPath::SlowPath() : outer_(in_slow_path) {
  in_slow_path = true;
  if (IsOwn(crosscut_this_thread)) SetBusy(crosscut_this_thread, 1);
}

SlowPath::~SlowPath() {
  if (!outer_ && IsOwn(crosscut_this_thread)) SetBusy(crosscut_this_thread, 0);
  in_slow_path = outer_;
}

void SlowPath::Forget() { in_slow_path = false; }

bool Interrupts() { return in_slow_path || Busy(crosscut_this_thread) != 0; }

}  // namespace crosscut::record

extern "C" {

__thread crosscut_thread* crosscut_this_thread __attribute__((tls_model("initial-exec"))) =
    reinterpret_cast<crosscut_thread*>(crosscut::record::shared_page);

}  // extern "C"
