// What a reader finds of the events that faults_program.cc numbered.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace crosscut::faults {

struct ProcessAudit {
  std::string key, start_method, parent_key, ticks;
  int64_t pid = 0;
  bool stopped = false;
  std::map<uint64_t, std::vector<uint64_t>> numbers;  // by thread, in the order found
  // Event words of the program's threads, without thread, end and drop words.
  uint64_t kept = 0;
  uint64_t counters = 0;
  uint64_t dropped = 0;  // sum of those threads' kDrop words
  uint64_t full = 0;     // of them, for want of room in the ring
  uint64_t threads_ended = 0;
  uint64_t unknown_names = 0;  // counters whose name nobody interned
  uint64_t unbalanced = 0;     // kEnd with no span open on its track
  int64_t left_open = 0;       // spans open at the end, over all tracks
  int64_t stop_reason = 0;
  size_t longest_name = 0;        // bytes
  uint64_t spans_named_long = 0;  // spans whose name has over 1000 bytes
  uint64_t steps_back = 0;        // words of a track stamped before the one before them
};

struct Audit {
  std::string error;  // "" if the run could be read
  std::vector<ProcessAudit> processes;
};

// Reads the run, from logs and rings; changes nothing.
Audit ReadRun(const std::string& dir);

// "" if `numbers` is 1, 2, ... n in this order; else what is wrong first.
std::string GapIn(const std::vector<uint64_t>& numbers);

}  // namespace crosscut::faults
