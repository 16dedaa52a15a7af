// The program's own profilers: how many run, and how many are about to start or to end. What
// plugins are told of them has an order, since threads overtake each other.
#pragma once

#include <atomic>
#include <cstdint>

#include "crosscut/crosscut.h"
#include "crosscut/plugin.h"

namespace crosscut::host {

class TheirProfilers {
 public:
  struct State {
    crosscut_profilers state;
    uint64_t order;  // 0: nothing was ever told
  };
  // Any thread. One that was never announced ends none.
  State Change(crosscut_profiler_moment moment) {
    uint64_t word = word_.load(), next = 0;
    do {
      uint64_t running = word & kMost, changing = word >> kBits & kMost;
      switch (moment) {
        case CROSSCUT_PROFILER_STARTS: Up(&running), Up(&changing); break;
        case CROSSCUT_PROFILER_STARTED: Down(&changing); break;
        case CROSSCUT_PROFILER_ENDS: Up(&changing); break;
        case CROSSCUT_PROFILER_ENDED: Down(&running), Down(&changing); break;
      }
      next = ((word >> 2 * kBits) + 1) << 2 * kBits | changing << kBits | running;
    } while (!word_.compare_exchange_weak(word, next));
    return StateOf(next);
  }
  State Now() const { return StateOf(word_.load()); }
  // In a forked child none runs.
  void Clear() { word_.store(0); }

 private:
  static constexpr int kBits = 8;
  static constexpr uint64_t kMost = (1 << kBits) - 1;
  static void Up(uint64_t* number) { *number += *number < kMost ? 1 : 0; }
  static void Down(uint64_t* number) { *number -= *number > 0 ? 1 : 0; }
  static State StateOf(uint64_t word) {
    const bool changing = (word >> kBits & kMost) != 0, running = (word & kMost) != 0;
    return {changing  ? CROSSCUT_PROFILERS_CHANGING
            : running ? CROSSCUT_PROFILERS_RUNNING
                      : CROSSCUT_PROFILERS_NONE,
            word >> 2 * kBits};
  }

  std::atomic<uint64_t> word_{0};  // order, changing, running
};

}  // namespace crosscut::host
