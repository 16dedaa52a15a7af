// Finishes the logs of dead processes: moves what their rings still hold into their logs, writes
// index and end chunk, deletes the rings. `crosscut record` does so while and after its command
// runs, and so does every program that reads a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace crosscut::format {

inline constexpr int kReapWaitMs = 120'000;

struct ReapReport {
  struct Process {
    std::string key;
    int64_t pid = 0;
    bool alive = false;   // left alone
    std::string problem;  // why it could not be finished; its files stay as they are
  };
  std::vector<Process> processes;  // those that had something left to do, or are alive
  uint64_t finished = 0;           // logs completed now
  uint64_t rings_deleted = 0;
};

// Reaps every dead process of the run. Idempotent: it may be killed at any instant and called
// again. A lock file in `dir` serialises two calls at once. A process that cannot be finished (disk
// full) does not keep others from it. kNotFound where `dir` is no directory, kLimit where another
// call has the lock for longer than `wait_ms`, kIo where it cannot be taken, kInvalid where `dir`
// is not a run. Writes into no other directory that takes the place of `dir` meanwhile.
Result<ReapReport> ReapRun(const std::string& dir, int wait_ms = kReapWaitMs);

}  // namespace crosscut::format
