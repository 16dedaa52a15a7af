#include "src/collect/usage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "crosscut/crosscut.h"

namespace crosscut::record {
namespace {

// The end of a file, at least half as much as there is room for where it has that, and a 0 behind;
// whether there is any.
template <size_t n>
bool ReadEnd(const char* path, char (&text)[n]) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  size_t have = 0;
  for (ssize_t got; (got = read(fd, text + have, n - 1 - have)) > 0;) {
    have += static_cast<size_t>(got);
    if (have < n - 1) continue;
    memmove(text, text + have - n / 2, n / 2);
    have = n / 2;
  }
  close(fd);
  text[have] = '\0';
  return have > 0;
}

// proc_pid_status(5).
int64_t BytesOf(const char* status, const char* key) {
  const char* const line = strstr(status, key);
  return line == nullptr ? -1 : strtoll(line + strlen(key), nullptr, 10) * 1024;
}

}  // namespace

Usage ReadUsage() {
  char status[8192];  // the groups of the user, of which there may be thousands, stand before
  const bool told = ReadEnd("/proc/self/status", status);
  // Takes longer, and the caller stamps what comes last.
  timespec cpu = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  return {int64_t{cpu.tv_sec} * 1'000'000'000 + cpu.tv_nsec,
          told ? BytesOf(status, "\nVmRSS:") : -1, told ? BytesOf(status, "\nVmHWM:") : -1};
}

int64_t RunDelayNs(int os_id) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", os_id);
  const char* second = ReadEnd(path, line) ? strchr(line, ' ') : nullptr;
  return second == nullptr ? -1 : strtoll(second, nullptr, 10);
}

void UsageCounters::Name(SessionStream* stream) {
  const format::NameAttributes counter{format::kKindSpan, format::kLayerNone, 0, 0};
  resident_ = stream->Intern("crosscut.resident_bytes", counter.Pack());
  peak_ = stream->Intern("crosscut.peak_bytes", counter.Pack());
  cpu_ = stream->Intern("crosscut.cpu_ns", counter.Pack());
}

void UsageCounters::Write(const Usage& usage, int64_t ours) const {
  const auto bytes = [ours](uint32_t name, int64_t all) {
    if (all >= 0) crosscut_counter(name, std::max<int64_t>(0, all - ours));
  };
  bytes(resident_, usage.resident_bytes);
  bytes(peak_, usage.peak_bytes);
  crosscut_counter(cpu_, usage.cpu_ns);
}

}  // namespace crosscut::record
