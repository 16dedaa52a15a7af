// Copies a part of what a process recorded into a log of its own: a window of a recording that is
// under way. The copy holds what a session that began and ended there would: spans that were open
// at the begin are not in it, nor are their ends, and what is open at the end ends with it. A step
// that runs at the begin, and of which not everything is recorded, is in it from there on, and so
// is a phase. Time in which the process did not record (before its start, in its pauses, behind its
// end) is no part.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"

namespace crosscut::format {

// What lies in it is copied: its ends in ticks of the process's clock and, for what plugins tell of
// devices, in ns of CLOCK_MONOTONIC.
struct CutPart {
  uint64_t begin = 0, end = 0;
  int64_t begin_ns = 0, end_ns = 0;
};

struct Cut {
  // At least one, ascending. Between two the copy is paused: nothing begins there, and what began
  // before ends as it did.
  std::vector<CutPart> parts;
  // The copy's own, beside those of the process that were stated by its end.
  std::vector<std::pair<std::string, std::string>> facts;
};

// Copies from the process `key` of the run `dir`, also while it records. `log`: the new log's path,
// "KEY.crosscut" in a folder of its own. kNotFound where the run has no such process, kInvalid
// where it recorded nothing in that time, kIo where `log` is there or cannot be written; a log that
// could not be finished stays as far as it was written.
Status CutProcess(const std::string& dir, const std::string& key, const Cut& cut,
                  const std::string& log);

}  // namespace crosscut::format
