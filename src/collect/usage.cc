#include "src/collect/usage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

namespace crosscut::record {
namespace {

// The second number in a file; -1: there is none.
int64_t SecondNumber(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  char line[256] = {};
  const ssize_t got = read(fd, line, sizeof line - 1);
  close(fd);
  const char* second = got <= 0 ? nullptr : strchr(line, ' ');
  return second == nullptr ? -1 : strtoll(second, nullptr, 10);
}

}  // namespace

Usage ReadUsage() {
  // Takes longer, and the caller stamps what comes last. In pages: proc_pid_statm(5).
  const int64_t pages = SecondNumber("/proc/self/statm");
  timespec cpu = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  return {int64_t{cpu.tv_sec} * 1'000'000'000 + cpu.tv_nsec,
          pages < 0 ? 0 : pages * sysconf(_SC_PAGESIZE)};
}

int64_t RunDelayNs(int os_id) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", os_id);
  return SecondNumber(path);
}

}  // namespace crosscut::record
