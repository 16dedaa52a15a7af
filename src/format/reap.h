// Finishes what dead processes left: takes the rest out of their rings into their logs, writes
// index and end chunk, deletes the rings. Used by `crosscut record` while and after its command
// runs, and by whatever reads a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace crosscut::format {

struct ReapReport {
  struct Process {
    std::string key;
    int64_t pid = 0;
    uint64_t words_from_ring = 0;  // that the log did not hold yet
    uint64_t truncated_bytes = 0;  // a torn tail that was cut off the log
    bool alive = false;            // left alone
    bool killed = false;           // it ended without stopping its session
    std::string problem;           // why it could not be finished; its files were left as they are
  };
  std::vector<Process> processes;  // those that had something left to do, or live
  uint64_t finished = 0;           // logs completed now
  uint64_t rings_deleted = 0;
};

// Reaps every dead process of the run. Idempotent. May be killed at any instant and called again;
// two at once are serialised by a lock file in `dir`. One process that cannot be finished (disk
// full) does not keep others from it. kNotFound, or kIo where not even the lock can be had.
Result<ReapReport> ReapRun(const std::string& dir);

}  // namespace crosscut::format
