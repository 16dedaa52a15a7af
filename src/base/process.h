// Identifies processes, so that a reused pid is not taken for the old process.
#pragma once

#include <cstdint>
#include <string>

#include "src/base/status.h"

namespace crosscut::base {

struct ProcessIdentity {
  int64_t pid = 0;
  uint64_t start = 0;          // /proc/<pid>/stat field 22: clock ticks from boot to its start
  uint64_t pid_namespace = 0;  // inode of /proc/<pid>/ns/pid; 0 unknown
  uint64_t boot = 0;           // first half of the kernel's boot id; 0 unknown
};

// The calling process. Fields that /proc does not show stay 0. Opens files: not for hot paths.
ProcessIdentity ThisProcess();

// A process of this pid namespace. If it no longer exists, `start` is 0.
ProcessIdentity IdentityOf(int64_t pid);

enum class Liveness {
  kDead,  // gone, a zombie, or its pid belongs to another process now
  kAlive,
  kUnknown,  // another pid namespace, or no /proc: it may be alive
};
Liveness LookUp(const ProcessIdentity& process);

// Whether the process has a file of that name (the last part of its path) mapped: kAlive if so;
// kDead if not, as after an exec; kUnknown where its maps cannot be read. It goes by the name,
// because device numbers in maps differ from stat's on some file systems.
Liveness HasMapped(int64_t pid, const std::string& file_name);

}  // namespace crosscut::base
