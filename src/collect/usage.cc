#include "src/collect/usage.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

namespace crosscut::record {
namespace {

// The second number of it, in pages (proc_pid_statm(5)).
int64_t ResidentBytes() {
  const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char line[256] = {};
  const ssize_t got = read(fd, line, sizeof line - 1);
  close(fd);
  const char* second = got <= 0 ? nullptr : strchr(line, ' ');
  return second == nullptr ? 0 : strtoll(second, nullptr, 10) * sysconf(_SC_PAGESIZE);
}

}  // namespace

Usage ReadUsage() {
  const int64_t resident = ResidentBytes();  // takes longer, and the caller stamps what comes last
  timespec cpu = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  return {int64_t{cpu.tv_sec} * 1'000'000'000 + cpu.tv_nsec, resident};
}

}  // namespace crosscut::record
