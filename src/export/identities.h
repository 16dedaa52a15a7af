// A trace has ids of any size, some of them twice or not known, and times below 0; the formats that
// are written have not. Here each process and thread gets a number that they all hold, once for all
// exporters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::exporting {

class Identities {
 public:
  explicit Identities(const trace::Trace& trace);

  // Its own id, where that is above 0, has 31 bits, and no process before it has it; else one that
  // is free. Unique in the trace.
  int64_t pid(uint32_t process) const { return pids_[process]; }
  // The same for a track of the host, unique in its process. Of a device: the number of its stream.
  int64_t tid(uint32_t track) const { return tids_[track]; }
  // Added to the times of what a trace tells of (not to edges of tracks), it leaves none below 0.
  int64_t shift_ns() const { return shift_ns_; }
  // Sentences about known ids that are others here.
  const std::vector<std::string>& gaps() const { return gaps_; }

 private:
  std::vector<int64_t> pids_, tids_;
  int64_t shift_ns_ = 0;
  std::vector<std::string> gaps_;
};

}  // namespace crosscut::exporting
