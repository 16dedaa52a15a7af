#include "src/collect/clock.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
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
  int mode = 0;
  if (prctl(PR_GET_TSC, &mode, 0, 0, 0) == 0 && mode == PR_TSC_SIGSEGV) return false;
  return KernelTrustsTsc();
}
#endif

format::TickSource Decide(bool secure) {
  const char* asked = secure ? nullptr : secure_getenv("CROSSCUT_CLOCK");
  if (asked != nullptr && strcmp(asked, "monotonic") == 0) return format::kTicksMonotonicNs;
#if defined(__x86_64__)
  return TscUsable() ? format::kTicksTsc : format::kTicksMonotonicNs;
#elif defined(__aarch64__)
  return format::kTicksCntvct;
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
  // Half the bracket, in ns; one ns for the rounding. The ratio at load is good enough for a bound.
  double ns_per_tick = 1.0;
  if (ClockIsInline() && at_load.tick != 0 && best.tick > at_load.tick) {
    const int64_t since = KernelNs(CLOCK_MONOTONIC) - at_load.ns;
    if (since > 1000) ns_per_tick = static_cast<double>(since) / (best.tick - at_load.tick);
  }
  if (ns_per_tick > 100 || ns_per_tick <= 0) ns_per_tick = 1.0;
  best.error_ns = static_cast<int64_t>(static_cast<double>(tightest) * ns_per_tick / 2) + 1;
  return best;
}

void ClockInjectForTest(uint64_t (*now)()) { injected.store(now); }

}  // namespace crosscut::record
