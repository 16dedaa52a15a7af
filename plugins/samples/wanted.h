// What samples are wanted, and for how long none were: what the program's threads say to the
// sampling thread. Nothing here waits for that thread, and only turning samples on may be a system
// call, where it rests.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "clock.h"

namespace crosscut::samples {

class Wanted {
 public:
  // One thread at a time.
  void Set(bool on) {
    if (on == this->on()) return;
    const int64_t now = NowNs();
    if (on) unwanted_ns_.fetch_add(now - changed_ns_.load());
    changed_ns_.store(now);
    on_.store(on ? 1 : 0);
    if (on && resting_.load()) syscall(SYS_futex, &on_, FUTEX_WAKE_PRIVATE, 1);
  }
  // How far apart samples of a thread are, whether they are nearer to each other at first, and
  // whether native code is sampled, too.
  void SetKind(int64_t period_ns, bool nearer_at_first, bool native) {
    period_ns_.store(period_ns);
    nearer_at_first_.store(nearer_at_first);
    native_.store(native);
  }

  // The calling thread begins steps: it was asked to turn samples on or off at an edge of one.
  void SetStepper() { stepper_.store(static_cast<int>(syscall(SYS_gettid))); }

  int stepper() const { return stepper_.load(); }  // 0: none
  bool on() const { return on_.load() != 0; }
  int64_t period_ns() const { return period_ns_.load(); }
  bool nearer_at_first() const { return nearer_at_first_.load(); }
  bool native() const { return native_.load(); }
  // While on: since when, and for how long before that not, in all.
  int64_t since_ns() const { return changed_ns_.load(); }
  int64_t unwanted_ns() const { return unwanted_ns_.load(); }
  // For the sampling thread: returns when it is on, or after a second.
  void Await() {
    constexpr timespec kSecond = {1, 0};
    resting_.store(true);
    if (!on()) syscall(SYS_futex, &on_, FUTEX_WAIT_PRIVATE, 0, &kSecond);
    resting_.store(false);
  }

 private:
  std::atomic<int> on_{0}, stepper_{0};
  std::atomic<bool> nearer_at_first_{false}, native_{false}, resting_{false};
  std::atomic<int64_t> period_ns_{1}, changed_ns_{0}, unwanted_ns_{0};
};

}  // namespace crosscut::samples
