#pragma once

#include <time.h>

#include <cstdint>

namespace crosscut::samples {

inline int64_t ReadClock(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * INT64_C(1'000'000'000) + now.tv_nsec;
}
inline int64_t NowNs() { return ReadClock(CLOCK_MONOTONIC); }
// Processor time of the calling thread.
inline int64_t ThreadNs() { return ReadClock(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace crosscut::samples
