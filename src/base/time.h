// The kernel's clocks in nanoseconds.
#pragma once

#include <time.h>

#include <cstdint>

namespace crosscut::base {

inline int64_t NsOf(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}
inline int64_t MonotonicNs() { return NsOf(CLOCK_MONOTONIC); }
inline int64_t RealtimeNs() { return NsOf(CLOCK_REALTIME); }

}  // namespace crosscut::base
