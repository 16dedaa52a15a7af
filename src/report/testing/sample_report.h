// A made-up run for tests of the views: a training program with two data workers, twelve threads, a
// device and 400 steps. Deterministic; its partition tables add up.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/report/data.h"

namespace crosscut::report {

struct SampleOptions {
  size_t steps = 400;
  size_t workers = 2;
  size_t finest_tiles = 2000;  // of each track's finest level
  size_t functions = 60;
  size_t detail_spans = 90;  // about so many of each thread in a detail
  bool device = true, gaps = true;
  bool huge_last = false;  // the last step takes 80 times as long
  // Names that replace the program's own, in turn, in every field that holds a text.
  std::vector<std::string> names;
};

ReportData SampleReport(const SampleOptions& options = {});

}  // namespace crosscut::report
