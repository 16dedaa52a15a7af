// A mutex and a condition that a forked child finds free, whoever held or awaited them in the
// parent: the one kind of lock in Crosscut's C++, for plugins, too. A std::mutex that another
// thread holds at fork() stays locked in the child for ever, and the child hangs. Linux only.
#ifndef CROSSCUT_FORK_SAFE_MUTEX_H_
#define CROSSCUT_FORK_SAFE_MUTEX_H_

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace crosscut {

// As std::mutex, for std::lock_guard; needs no construction at run time. The holder in the parent
// stops anywhere, so what it guards must make sense to a child after every single write. Leaves
// errno alone.
//
// The word is `fork number << 2 | state`. A word of another fork number was locked by a thread that
// this process does not have: it counts as free.
class __attribute__((visibility("hidden"))) ForkSafeMutex {
 public:
  constexpr ForkSafeMutex() = default;
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

  void lock() {
    const uint32_t fork = Fork();
    if (!Take(fork, kHeld)) Wait(fork);
  }
  bool try_lock() { return Take(Fork(), kHeld); }
  void unlock() {
    const uint32_t fork = Fork();
    if (word_.exchange(fork, std::memory_order_release) == (fork | kAwaited)) {
      Futex(&word_, FUTEX_WAKE_PRIVATE, 1, nullptr);
    }
  }

  // Who has a pthread_atfork() handler of its own that takes such locks in the child calls this
  // before it registers that.
  static void FollowForks() { (void)Fork(); }

 private:
  friend class ForkSafeCondition;
  static constexpr uint32_t kHeld = 1, kAwaited = 2, kState = 3;

  static uint32_t Fork() {
    static const int followed =
        pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
    (void)followed;  // without memory for it: as a std::mutex
    return forks.load(std::memory_order_relaxed) << 2;
  }

  bool Take(uint32_t fork, uint32_t state) {
    uint32_t word = word_.load(std::memory_order_relaxed);
    while ((word & kState) == 0 || (word & ~kState) != fork) {
      if (word_.compare_exchange_weak(word, fork | state, std::memory_order_acquire)) return true;
    }
    return false;
  }

  // Who has waited takes it as awaited: others may wait still.
  void Wait(uint32_t fork) {
    while (!Take(fork, kAwaited)) {
      uint32_t held = fork | kHeld;
      if (!word_.compare_exchange_strong(held, fork | kAwaited) && held != (fork | kAwaited)) {
        continue;
      }
      Futex(&word_, FUTEX_WAIT_PRIVATE, fork | kAwaited, nullptr);
    }
  }

  static void Futex(std::atomic<uint32_t>* word, int what, uint32_t value, const timespec* ns) {
    const int before = errno;
    syscall(SYS_futex, word, what, value, ns, nullptr, 0);
    errno = before;
  }

  static inline std::atomic<uint32_t> forks{0};

  std::atomic<uint32_t> word_{0};
};

// Waits go by CLOCK_MONOTONIC: whoever sets the time of day makes none longer or shorter.
class __attribute__((visibility("hidden"))) ForkSafeCondition {
 public:
  constexpr ForkSafeCondition() = default;
  ForkSafeCondition(const ForkSafeCondition&) = delete;
  ForkSafeCondition& operator=(const ForkSafeCondition&) = delete;

  // With `mutex` held, which is free meanwhile: until NotifyAll(), for `ns` at most (< 0: without
  // limit), or for no reason at all.
  void Wait(ForkSafeMutex* mutex, int64_t ns) {
    const uint32_t seen = notified_.load();
    waiting_.fetch_add(1);
    const timespec limit = {static_cast<time_t>(ns / 1'000'000'000), ns % 1'000'000'000};
    mutex->unlock();
    ForkSafeMutex::Futex(&notified_, FUTEX_WAIT_PRIVATE, seen, ns < 0 ? nullptr : &limit);
    waiting_.fetch_sub(1);
    mutex->lock();
  }
  // Behind the change that others wait for, which was made under their mutex. A system call only
  // where somebody waits: who counts himself too late to be seen finds another number, and does not
  // sleep.
  void NotifyAll() {
    notified_.fetch_add(1);
    if (waiting_.load() == 0) return;
    ForkSafeMutex::Futex(&notified_, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr);
  }

 private:
  std::atomic<uint32_t> notified_{0}, waiting_{0};  // seq_cst; in a child some may count for ever
};

}  // namespace crosscut

#endif  // CROSSCUT_FORK_SAFE_MUTEX_H_
