// The steps of a process, as a file's events state them.
#pragma once

#include <cstdint>
#include <vector>

#include "src/trace/builder.h"

namespace crosscut::import {

struct FileStep {
  int64_t begin_ns, end_ns, number;
  trace::TrackId track;
  trace::NameId name;
  uint8_t level = 3;
  bool after_switch = false;
  bool open = false;  // nobody told its end: it ends with its work
};

// Puts the steps of one process, in any order, into the builder. A step that is not over when the
// next begins ends there. Returns how many such steps there were.
uint64_t PutSteps(trace::Builder* builder, std::vector<FileStep> steps);

}  // namespace crosscut::import
