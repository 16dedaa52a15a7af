#include "src/base/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "src/base/file.h"

namespace crosscut::base {
namespace {

constexpr size_t kMaxStatBytes = 4096;
constexpr size_t kMaxMapsBytes = 64 << 20;

struct ProcStat {
  bool found = false;
  bool ended = false;  // zombie or dead
  uint64_t start = 0;
};

ProcStat ReadStat(const std::string& path) {
  ProcStat stat;
  Result<std::string> text = ReadSmallFile(path, kMaxStatBytes);
  if (!text.ok()) return stat;
  // The command's name, in parentheses, may itself hold spaces and parentheses.
  const size_t close = text->rfind(')');
  if (close == std::string::npos || close + 2 >= text->size()) return stat;
  const char* at = text->c_str() + close + 2;
  stat.ended = *at == 'Z' || *at == 'X';
  for (int field = 3; field < 22 && at != nullptr; ++field) {
    at = strchr(at, ' ');
    if (at != nullptr) ++at;
  }
  if (at == nullptr) return stat;
  stat.start = strtoull(at, nullptr, 10);
  stat.found = true;
  return stat;
}

std::string ProcPath(int64_t pid, const char* rest) {
  char path[96];
  snprintf(path, sizeof path, "/proc/%lld/%s", static_cast<long long>(pid), rest);
  return path;
}

// By its main thread, whose start is the process's: qemu's user mode makes up a /proc/<pid>/stat
// for the process itself, with a start that no other process sees.
ProcStat ReadStatOf(int64_t pid) {
  char path[96];
  snprintf(path, sizeof path, "/proc/%lld/task/%lld/stat", static_cast<long long>(pid),
           static_cast<long long>(pid));
  return ReadStat(path);
}

uint64_t InodeOf(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 ? info.st_ino : 0;
}

uint64_t BootId() {
  Result<std::string> text = ReadSmallFile("/proc/sys/kernel/random/boot_id", 256);
  if (!text.ok()) return 0;
  uint64_t id = 0;
  int digits = 0;
  for (char c : *text) {
    const char* hex = "0123456789abcdef";
    const char* found = c != '\0' ? strchr(hex, c) : nullptr;
    if (found == nullptr || digits == 16) continue;
    id = id << 4 | static_cast<uint64_t>(found - hex);
    ++digits;
  }
  return id;
}

// A leader that has called pthread_exit is a zombie while its other threads go on.
bool AnyThreadLives(int64_t pid) {
  const std::string folder = ProcPath(pid, "task");
  const auto threads = NamesIn(folder);
  return threads.ok() && std::any_of(threads->begin(), threads->end(), [&](const auto& thread) {
           const ProcStat stat = ReadStat(folder + "/" + thread + "/stat");
           return stat.found && !stat.ended;
         });
}

}  // namespace

ProcessIdentity ThisProcess() {
  ProcessIdentity self;
  self.pid = getpid();
  self.start = ReadStatOf(self.pid).start;
  self.pid_namespace = InodeOf("/proc/self/ns/pid");
  self.boot = BootId();
  return self;
}

ProcessIdentity IdentityOf(int64_t pid) {
  return {pid, ReadStatOf(pid).start, InodeOf("/proc/self/ns/pid"), BootId()};
}

Liveness LookUp(const ProcessIdentity& process) {
  if (process.pid <= 0) return Liveness::kDead;
  const uint64_t boot = BootId();
  // A caller may know only the low half of the boot id.
  const uint64_t mask = process.boot >> 32 == 0 ? UINT32_MAX : UINT64_MAX;
  if (process.boot != 0 && boot != 0 && process.boot != (boot & mask)) return Liveness::kDead;
  const uint64_t ours = InodeOf("/proc/self/ns/pid");
  if (process.pid_namespace != 0 && ours != 0 && process.pid_namespace != ours) {
    return Liveness::kUnknown;
  }
  const ProcStat stat = ReadStatOf(process.pid);
  if (!stat.found) {
    if (kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == ESRCH) return Liveness::kDead;
    return Liveness::kUnknown;
  }
  if (process.start != 0 && stat.start != process.start) return Liveness::kDead;
  if (stat.ended && !AnyThreadLives(process.pid)) return Liveness::kDead;
  return process.start != 0 ? Liveness::kAlive : Liveness::kUnknown;
}

Liveness HasMapped(int64_t pid, const std::string& file_name) {
  Result<std::string> maps = ReadSmallFile(ProcPath(pid, "maps"), kMaxMapsBytes);
  if (!maps.ok() || maps->empty()) return Liveness::kUnknown;
  return maps->find("/" + file_name) != std::string::npos ? Liveness::kAlive : Liveness::kDead;
}

}  // namespace crosscut::base
