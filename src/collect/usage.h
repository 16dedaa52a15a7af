// What the process takes of the machine, and what its threads wait for.
#pragma once

#include <cstdint>

namespace crosscut::record {

struct Usage {
  int64_t cpu_ns;          // of all threads since the process began, Crosscut's own included
  int64_t resident_bytes;  // 0: /proc cannot be read
};

// Opens /proc/self/statm for as long as it takes, in the calling thread's table of descriptors.
// Two to four system calls and no allocation; safe from any thread.
Usage ReadUsage();

// For how long this thread of the process was ready to run without a processor since it began; -1
// where the kernel does not tell. As ReadUsage() with a file of /proc.
int64_t RunDelayNs(int os_id);

}  // namespace crosscut::record
