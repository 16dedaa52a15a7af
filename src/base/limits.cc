#include "src/base/limits.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace crosscut::base {
namespace {

constexpr rlim_t kFewestFiles = 32;
// A ring, libraries, the stacks and heaps of threads: 64 MiB of addresses for each heap alone.
constexpr rlim_t kLeastAddresses = rlim_t{1} << 30;
constexpr rlim_t kLeastData = rlim_t{512} << 20;
constexpr rlim_t kTasks = 32;        // left to start
constexpr rlim_t kManyTasks = 8192;  // no such limit is worth counting who runs

rlim_t LimitOf(__rlimit_resource resource) {
  struct rlimit limit = {};
  return getrlimit(resource, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

// Threads of all processes of this user, as far as /proc shows them.
rlim_t TasksOfUser() {
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return 0;
  rlim_t tasks = 0;
  while (const dirent* entry = readdir(processes)) {
    char path[300];
    struct stat facts;
    if (atoi(entry->d_name) <= 0) continue;
    snprintf(path, sizeof path, "/proc/%s/task", entry->d_name);
    // Beside its threads a folder links to itself and from above.
    if (stat(path, &facts) == 0 && facts.st_uid == getuid()) tasks += facts.st_nlink - 2;
  }
  closedir(processes);
  return tasks;
}

bool TasksLeft() {
  const rlim_t limit = LimitOf(RLIMIT_NPROC);
  if (getuid() == 0 || limit >= kManyTasks) return true;  // RLIM_INFINITY is the largest
  return limit >= kTasks && TasksOfUser() <= limit - kTasks;
}

}  // namespace

bool LimitsLeaveRoom(char* words, size_t room) {
  const char* tight = nullptr;
  if (LimitOf(RLIMIT_NOFILE) < kFewestFiles) {
    tight = "open files (ulimit -n)";
  } else if (LimitOf(RLIMIT_AS) < kLeastAddresses) {
    tight = "memory (ulimit -v)";
  } else if (LimitOf(RLIMIT_DATA) < kLeastData) {
    tight = "data (ulimit -d)";
  } else if (!TasksLeft()) {
    tight = "processes (ulimit -u)";
  }
  if (tight != nullptr && words != nullptr) snprintf(words, room, "%s", tight);
  return tight == nullptr;
}

}  // namespace crosscut::base
