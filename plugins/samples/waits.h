// Whether a thread waits in the kernel, and in which call: /proc/self/task/TID/syscall.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace crosscut::samples {

class Waits {
 public:
  enum State { kUnknown, kRuns, kWaits };
  // kWaits: `call` is the name id of the system call ("futex"). A thread that runs may be ready and
  // without a processor.
  State Look(int tid, uint32_t* call);

 private:
  std::unordered_map<long, uint32_t> calls_;  // by number
};

}  // namespace crosscut::samples
