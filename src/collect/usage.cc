#include "src/collect/usage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "crosscut/crosscut.h"

namespace crosscut::record {
namespace {

// As much of a file as there is room for, which ends with a 0; whether there is any.
template <size_t n>
bool ReadStart(const char* path, char (&text)[n]) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t got = read(fd, text, n - 1);
  close(fd);
  text[std::max<ssize_t>(got, 0)] = '\0';
  return got > 0;
}

// proc_pid_status(5).
int64_t BytesOf(const char* status, const char* key) {
  const char* const line = strstr(status, key);
  return line == nullptr ? -1 : strtoll(line + strlen(key), nullptr, 10) * 1024;
}

int64_t CpuNs() {
  timespec cpu = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  return int64_t{cpu.tv_sec} * 1'000'000'000 + cpu.tv_nsec;
}

}  // namespace

Usage ReadUsage() {
  // Takes longer, and the caller stamps what comes last.
  char status[4096];
  if (!ReadStart("/proc/self/status", status)) return {CpuNs(), -1, -1};
  const int64_t peak = BytesOf(status, "\nVmHWM:"), resident = BytesOf(status, "\nVmRSS:");
  return {CpuNs(), resident, peak};
}

int64_t PeakSinceBegin() {
  rusage usage = {};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? int64_t{usage.ru_maxrss} * 1024 : -1;
}

Usage ReadUsageWithoutFiles(int64_t before) {
  const int64_t peak = PeakSinceBegin();  // of all programs of the process: getrusage(2)
  return {CpuNs(), -1, peak > before ? peak : -1};
}

int64_t RunDelayNs(int os_id) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", os_id);
  const char* second = ReadStart(path, line) ? strchr(line, ' ') : nullptr;
  return second == nullptr ? -1 : strtoll(second, nullptr, 10);
}

void UsageCounters::Name(SessionStream* stream) {
  const format::NameAttributes counter{format::kKindSpan, format::kLayerNone, 0, 0};
  const auto name = [&](const char* text) { return stream->Intern(text, counter.Pack()); };
  session_.store(0);
  before_.store(PeakSinceBegin());
  resident_.store(name("crosscut.resident_bytes"));
  peak_.store(name("crosscut.peak_bytes"));
  cpu_.store(name("crosscut.cpu_ns"));
  session_.store(Recorder::Get().session(), std::memory_order_release);
}

void UsageCounters::Write(const Names& names, const Usage& usage, int64_t ours) {
  const auto bytes = [ours](uint32_t name, int64_t all) {
    if (all >= 0) crosscut_counter(name, std::max<int64_t>(0, all - ours));
  };
  bytes(names.resident, usage.resident_bytes);
  bytes(names.peak, usage.peak_bytes);
  crosscut_counter(names.cpu, usage.cpu_ns);
}

void UsageCounters::Look(int64_t ours) {
  Write({cpu_.load(), resident_.load(), peak_.load()}, ReadUsage(), ours);
}

void UsageCounters::LookLast(int64_t ours) const {
  const uint32_t session = session_.load(std::memory_order_acquire);
  if (session == 0 || session != Recorder::Get().session()) return;
  const Usage usage = ReadUsageWithoutFiles(before_.load());
  Write({cpu_.load(), resident_.load(), peak_.load()}, usage, ours);
}

}  // namespace crosscut::record
