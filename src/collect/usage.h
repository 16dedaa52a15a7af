// What the process takes of the machine, and what its threads wait for.
#pragma once

#include <cstdint>

#include "src/collect/recorder.h"

namespace crosscut::record {

// In bytes -1: the kernel does not tell.
struct Usage {
  int64_t cpu_ns;          // of all threads since the process began, Crosscut's own included
  int64_t resident_bytes;  // now
  int64_t peak_bytes;      // the most that was resident since the process's last exec
};

// Opens /proc/self/status for as long as it takes, in the calling thread's table of descriptors.
// Two to four system calls and no allocation; safe from any thread.
Usage ReadUsage();

// For how long this thread of the process was ready to run without a processor since it began; -1
// where the kernel does not tell. As ReadUsage() with a file of /proc.
int64_t RunDelayNs(int os_id);

// The counters of a session that tell it; of one thread.
class UsageCounters {
 public:
  // At the session's begin.
  void Name(SessionStream* stream);
  // `ours`: bytes of Crosscut's own that are resident.
  void Write(const Usage& usage, int64_t ours) const;

 private:
  uint32_t cpu_ = 0, resident_ = 0, peak_ = 0;
};

}  // namespace crosscut::record
