// Profiles that sources of a recorded process collected themselves: files of the run directory,
// named by facts in the log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/import/native/native_session.h"
#include "src/trace/builder.h"

namespace crosscut::import {

struct CollectedInto {
  trace::Builder* builder;
  trace::ProcessId process;
  int64_t realtime_offset_ns;  // CLOCK_REALTIME = trace time + this
};

// Sentences without a full stop.
struct CollectedTold {
  std::vector<std::string> problems;  // what could not be read
  std::vector<std::string> words;     // what the sources say of their profiles
};

// Puts the profiles in `dir` on the process's clock.
CollectedTold TakeCollected(const std::string& dir, const NativeSession& session,
                            const CollectedInto& into);

}  // namespace crosscut::import
