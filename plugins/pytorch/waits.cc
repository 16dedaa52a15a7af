#include "waits.h"

#include <ATen/record_function.h>
#include <crosscut/crosscut.h>
#include <crosscut/fork_safe_mutex.h>
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "import_slots.h"
#include "names.h"

namespace crosscut::pytorch {
namespace {

// Of the collectives of one thread. Numbers of threads are small and count up.
struct Collectives {
  std::atomic<uint32_t> began{0}, ended{0};
};
constexpr uint64_t kThreads = 4096;
Collectives collectives[kThreads];

Collectives& Of(uint64_t thread) { return collectives[thread % kThreads]; }

uint32_t WaitName() {
  static const uint32_t name = crosscut_intern("wait for torch.distributed", SIZE_MAX,
                                               CROSSCUT_SPAN, CROSSCUT_COMM, 0, ScopeProbe());
  return name;
}

// From construction to destruction, where this thread has collectives under way: at its begin, or
// at its end one that a thread of the library has only begun meanwhile.
class Wait {
 public:
  Wait() {
    if (!crosscut_recording()) return;
    mine_ = &Of(at::RecordFunction::currentThreadId());
    began_ = mine_->began.load(std::memory_order_relaxed);
    told_ = began_ != mine_->ended.load(std::memory_order_relaxed);
    if (told_) {
      crosscut_begin(WaitName());
    } else {
      tick_ = crosscut_now();
    }
  }
  ~Wait() {
    if (told_) {
      crosscut_end_named(WaitName());
    } else if (mine_ != nullptr && mine_->began.load(std::memory_order_relaxed) != began_) {
      crosscut_span_at(WaitName(), tick_, crosscut_now());
    }
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

 private:
  const Collectives* mine_ = nullptr;
  uint32_t began_ = 0;
  uint64_t tick_ = 0;
  bool told_ = false;
};

using Lock = std::unique_lock<std::mutex>;

// As libstdc++ does it, whose function has another version in each of its releases.
void ConditionWait(std::condition_variable* condition, Lock& lock) {
  const Wait wait;
  pthread_cond_wait(condition->native_handle(), lock.mutex()->native_handle());
}

int TimedWait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  const Wait wait;
  return pthread_cond_timedwait(condition, mutex, until);
}

#if __GLIBC_PREREQ(2, 30)
int ClockWait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
              const timespec* until) {
  const Wait wait;
  return pthread_cond_clockwait(condition, mutex, clock, until);
}
#endif

template <class F>
ImportedFunction Led(const char* symbol, F* ours) {
  return {symbol, reinterpret_cast<uintptr_t>(ours)};
}

ImportSlots& Slots() {
  static auto* const slots = new ImportSlots({
    Led("_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE", &ConditionWait),
        Led("pthread_cond_timedwait", &TimedWait),
#if __GLIBC_PREREQ(2, 30)
        Led("pthread_cond_clockwait", &ClockWait),
#endif
  });
  return *slots;
}

std::atomic<bool> any_began{false};  // programs without collectives are left alone
bool told = false;                   // by Mutex()

ForkSafeMutex& Mutex() {
  static auto* const mutex = new ForkSafeMutex;
  return *mutex;
}

// With the mutex held.
void Lead() {
  if (Slots().Lead(told) != 0 || !told) return;
  crosscut_source_state("waits", "", "missing",
                        "this PyTorch waits for collectives in a way that cannot be seen");
}

}  // namespace

void CollectiveBegan(uint64_t thread) {
  Of(thread).began.fetch_add(1, std::memory_order_relaxed);
  if (any_began.load(std::memory_order_relaxed) || any_began.exchange(true)) return;
  std::lock_guard<ForkSafeMutex> lock(Mutex());
  Lead();
}

void CollectiveEnded(uint64_t thread) { Of(thread).ended.fetch_add(1, std::memory_order_relaxed); }

void RecordWaits(bool on) {
  std::lock_guard<ForkSafeMutex> lock(Mutex());
  told = on;
  if (any_began.load()) Lead();
}

}  // namespace crosscut::pytorch
