// The steps of a process, as the events of a file tell them.
#pragma once

#include <cstdint>
#include <vector>

#include "src/trace/builder.h"

namespace crosscut::import {

struct FileStep {
  int64_t begin_ns, end_ns, number;
  trace::TrackId track;
  trace::NameId name;
};

// Those of one process, in any order; one that is not over where the next begins ends there.
// Returns how many were so.
uint64_t PutSteps(trace::Builder* builder, std::vector<FileStep> steps);

}  // namespace crosscut::import
