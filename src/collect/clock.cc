#include "src/collect/clock.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <initializer_list>

#include "crosscut/crosscut.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace crosscut::record {
namespace {

constexpr int kBracketTries = 7;
constexpr int64_t kShortestBaseNs = 200'000;

// ClockInit() -> all. Relaxed where it is read: the library's constructor has decided it before
// anybody can call, and it stands for itself.
std::atomic<uint8_t> source{0};
// ClockInjectForTest() -> ClockNow(). Relaxed: a function needs nothing else.
std::atomic<uint64_t (*)()> injected{nullptr};
ClockReading at_load;

int64_t KernelNs(clockid_t id) {
  timespec t;
  clock_gettime(id, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Whether reading the counter would kill this process. Kernels for arm64 can forbid it, too, from
// Linux 6.12 on.
[[maybe_unused]] bool CounterForbidden() {
  int mode = 0;
  return prctl(PR_GET_TSC, &mode, 0, 0, 0) == 0 && mode == PR_TSC_SIGSEGV;
}

#if defined(__x86_64__)
// False only where the kernel watched the TSC and gave it up.
bool KernelTrustsTsc() {
  const int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                      O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;
  char text[64] = {};
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  if (got <= 0) return true;
  for (const char* bad : {"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"}) {
    if (strncmp(text, bad, strlen(bad)) == 0) return false;
  }
  return true;
}

bool TscUsable() {
  unsigned a, b, c, d;
  if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || (d & (1u << 8)) == 0) return false;
  return KernelTrustsTsc();
}
#endif

format::TickSource Decide(bool secure) {
  const char* asked = secure ? nullptr : secure_getenv("CROSSCUT_CLOCK");
  if (asked != nullptr && strcmp(asked, "monotonic") == 0) return format::kTicksMonotonicNs;
#if defined(__x86_64__)
  return TscUsable() && !CounterForbidden() ? format::kTicksTsc : format::kTicksMonotonicNs;
#elif defined(__aarch64__)
  return CounterForbidden() ? format::kTicksMonotonicNs : format::kTicksCntvct;
#else
  return format::kTicksMonotonicNs;
#endif
}

}  // namespace

void ClockInit(bool secure) {
  if (source.load(std::memory_order_acquire) != 0) return;
  source.store(Decide(secure), std::memory_order_release);
  at_load = ClockRead(format::kClockMonotonic);
}

format::TickSource ClockSource() {
  if (injected.load(std::memory_order_relaxed) != nullptr) return format::kTicksMonotonicNs;
  return static_cast<format::TickSource>(source.load(std::memory_order_relaxed));
}

bool ClockIsInline() { return ClockSource() != format::kTicksMonotonicNs; }

uint64_t ClockNow() {
  if (auto* now = injected.load(std::memory_order_relaxed)) return now();
  if (source.load(std::memory_order_relaxed) == format::kTicksMonotonicNs) {
    return static_cast<uint64_t>(KernelNs(CLOCK_MONOTONIC));
  }
  return crosscut_ticks_();
}

double ClockNsPerTick() {
  if (!ClockIsInline()) return 1.0;
  ClockReading now = ClockRead(format::kClockMonotonic);
  while (now.ns - at_load.ns < kShortestBaseNs) now = ClockRead(format::kClockMonotonic);
  return static_cast<double>(now.ns - at_load.ns) / static_cast<double>(now.tick - at_load.tick);
}

int64_t ReadingErrorNs(uint64_t width, double ns_per_tick) {
  const uint64_t half = (width + 1) / 2;
  const auto ticks = static_cast<double>(half + 1);
  return static_cast<int64_t>(std::ceil(ticks * ns_per_tick)) + 1;  // the ns are rounded, too
}

ClockReading ClockRead(format::ClockId clock_id) {
  const clockid_t id = clock_id == format::kClockRealtime ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  uint64_t tightest = UINT64_MAX;
  ClockReading best;
  for (int i = 0; i < kBracketTries; ++i) {
    const uint64_t before = ClockNow();
    const int64_t ns = KernelNs(id);
    const uint64_t width = ClockNow() - before;
    if (width >= tightest) continue;
    tightest = width;
    best = {before + width / 2, ns, 0};
  }
  double ns_per_tick = 1.0;  // since the library's load: good enough for a bound
  if (ClockIsInline() && at_load.tick != 0 && best.tick > at_load.tick) {
    const int64_t since = KernelNs(CLOCK_MONOTONIC) - at_load.ns;
    if (since > 1000) ns_per_tick = static_cast<double>(since) / (best.tick - at_load.tick);
  }
  best.error_ns = ReadingErrorNs(tightest, ns_per_tick);
  return best;
}

void ClockInjectForTest(uint64_t (*now)()) { injected.store(now); }

}  // namespace crosscut::record
