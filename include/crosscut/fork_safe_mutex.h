// For plugins written in C++: a mutex that a forked child finds free, whoever held it in the
// parent. A std::mutex that another thread holds at fork() stays locked in the child for ever, and
// the child hangs. Linux only.
#ifndef CROSSCUT_FORK_SAFE_MUTEX_H_
#define CROSSCUT_FORK_SAFE_MUTEX_H_

#include <pthread.h>
#include <string.h>

#include <atomic>

namespace crosscut {

// As std::mutex, for std::lock_guard. It must live as long as the library that holds it: make it
// static, or a member of what is never deleted. The holder in the parent stops anywhere, so what
// it guards must make sense to a child after every single write.
class __attribute__((visibility("hidden"))) ForkSafeMutex {
 public:
  ForkSafeMutex() {
    static const int followed = pthread_atfork(nullptr, nullptr, &ForgetHolders);
    (void)followed;  // without memory for it: as a std::mutex
    next_ = newest.load();
    while (!newest.compare_exchange_weak(next_, this)) {
    }
  }
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }
  bool try_lock() { return pthread_mutex_trylock(&mutex_) == 0; }

 private:
  // In the child, whose one thread holds none of them.
  static void ForgetHolders() {
    const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
    for (ForkSafeMutex* it = newest.load(); it != nullptr; it = it->next_) {
      memcpy(&it->mutex_, &unlocked, sizeof unlocked);
    }
  }

  static inline std::atomic<ForkSafeMutex*> newest{nullptr};

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  ForkSafeMutex* next_;
};

}  // namespace crosscut

#endif  // CROSSCUT_FORK_SAFE_MUTEX_H_
