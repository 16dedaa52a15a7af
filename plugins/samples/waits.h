// What the kernel tells of a thread of this process: whether it waits, and in which call
// (/proc/self/task/TID/syscall), and how long it was ready without a processor (.../schedstat).
#pragma once

#include <cstdint>
#include <unordered_map>

namespace crosscut::samples {

class Waits {
 public:
  enum State { kUnknown, kRuns, kWaits };
  // kWaits: `call` is the name id of the system call ("futex"), of reads and writes with the sort
  // of file where it is no regular one: "write (pipe)", "(socket)", "(device)", such as a terminal.
  // A thread that runs may be ready and without a processor.
  State Look(int tid, uint32_t* call);

 private:
  std::unordered_map<unsigned long, uint32_t> calls_;  // by number and sort of file
};

// What the kernel counts of a thread, in all its life.
struct Account {
  int64_t delay_ns = -1;  // for how long it was ready to run and had no processor
  int64_t turns = 0;      // how often it got a processor
};
// Nothing where the kernel keeps no such account, or the thread is gone.
Account AccountOf(int tid);

}  // namespace crosscut::samples
