// What the process takes of the machine, and what its threads wait for.
#pragma once

#include <atomic>
#include <cstdint>

#include "src/collect/recorder.h"

namespace crosscut::record {

// -1: the kernel does not tell.
struct Usage {
  int64_t cpu_ns;          // of all threads since the process began, Crosscut's own included
  int64_t resident_bytes;  // now
  int64_t peak_bytes;      // the most that was resident since the process's last exec
};

// Opens /proc/self/status for as long as it takes, in the calling thread's table of descriptors.
// Two to four system calls and no allocation; safe from any thread.
Usage ReadUsage();

// Without a file: resident_bytes is -1, and so is peak_bytes where an earlier program of this
// process, before its last exec, may have needed as much: `before` is PeakSinceBegin() from then.
Usage ReadUsageWithoutFiles(int64_t before);
int64_t PeakSinceBegin();

// For how long this thread of the process was ready to run without a processor since it began; -1
// where the kernel does not tell. As ReadUsage() with a file of /proc.
int64_t RunDelayNs(int os_id);

// The counters of a session that tell it. `ours`: bytes of Crosscut's own that are resident.
class UsageCounters {
 public:
  // At its begin; in the one thread that looks, as Look().
  void Name(SessionStream* stream);
  void Look(int64_t ours);
  // In any thread that may record, at the end of a session that has its names; without a file.
  void LookLast(int64_t ours) const;

 private:
  struct Names {
    uint32_t cpu, resident, peak;
  };
  static void Write(const Names& names, const Usage& usage, int64_t ours);

  std::atomic<int64_t> before_{-1};  // as in ReadUsageWithoutFiles()
  std::atomic<uint32_t> cpu_{0}, resident_{0}, peak_{0};
  // Of whose names these are. Name() -> LookLast(), with all above.
  std::atomic<uint32_t> session_{0};
};

}  // namespace crosscut::record
