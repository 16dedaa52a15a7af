// What the process takes of the machine.
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

}  // namespace crosscut::record
