#include "src/base/preempt.h"

#ifdef CROSSCUT_PREEMPT_POINTS

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <time.h>

namespace {

uint64_t seed = 0;
uint64_t threads = 0;

__thread uint64_t state __attribute__((tls_model("initial-exec"))) = 0;
// Where the thread was last: loops over words are one place.
__thread uint64_t recent[4] __attribute__((tls_model("initial-exec"))) = {};
__thread uint32_t recents __attribute__((tls_model("initial-exec"))) = 0;
// What the points cost the thread: no more than half of its time.
__thread uint64_t first_ns __attribute__((tls_model("initial-exec"))) = 0;
__thread uint64_t spent_ns __attribute__((tls_model("initial-exec"))) = 0;
__thread bool inside __attribute__((tls_model("initial-exec"))) = false;

uint64_t Mix(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

uint64_t Next() {
  if (state == 0) state = Mix(seed + 0x9e3779b97f4a7c15 * __atomic_add_fetch(&threads, 1, 0)) | 1;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

uint64_t Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void Sleep(uint64_t ns) {
  const timespec wait = {0, static_cast<long>(ns % 999'999'999)};
  nanosleep(&wait, nullptr);
}

// One place in sixteen is hot with a seed: there threads sleep often, and now and then for so long
// that others begin and end sessions. Elsewhere they mostly yield.
void Act(uint64_t place) {
  constexpr uint64_t kMs = 1'000'000;
  const uint64_t by = Next();
  const uint64_t ns = Next();
  for (const uint64_t before : recent) {
    if (before == place && by >> 32 & 63) return;
  }
  recent[recents++ % 4] = place;
  const bool hot = Mix(place ^ seed * 0x9e3779b97f4a7c15) % 16 == 0;
  const bool sleeps_long = hot && by % 2048 == 0, sleeps = hot && by % 64 == 0;
  if (!sleeps && by % 4096 != 1 && by % 256 != 2) return;
  const uint64_t begin = Now();
  if (first_ns == 0) first_ns = begin;
  if (spent_ns > (begin - first_ns) / 2 + 100 * kMs) return;
  if (sleeps_long) {
    Sleep(ns % ((by >> 40) % 4 == 0 ? 500 * kMs : 60 * kMs));
  } else if (sleeps) {
    Sleep(ns % (3 * kMs));
  } else if (by % 4096 == 1) {
    Sleep(ns % (kMs / 2));
  } else {
    sched_yield();
  }
  spent_ns += Now() - begin;
}

}  // namespace

extern "C" {

void crosscut_preempt_point(void) {
  if (__atomic_load_n(&seed, __ATOMIC_RELAXED) == 0 || inside) return;
  inside = true;
  const int saved = errno;
  // As far from here as it is, wherever the program was loaded.
  Act(reinterpret_cast<uintptr_t>(__builtin_return_address(0)) -
      reinterpret_cast<uintptr_t>(&crosscut_preempt_point));
  errno = saved;
  inside = false;
}

void crosscut_preempt_seed(unsigned long value) {
  __atomic_store_n(&seed, value, __ATOMIC_RELAXED);
}

}  // extern "C"

#endif
