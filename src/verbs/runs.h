// The verb `runs`: which runs there are. Verbs without an input take the newest of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/verbs/input.h"

namespace crosscut::verbs {

struct FoundRun {
  std::string path;        // as a user would name it
  int64_t started_ns = 0;  // time of day; of an imported run, when it was imported
  bool imported = false;
};

// The runs that lie in `folder` and in its crosscut-runs, newest first. What is no run is not
// mentioned. kNotFound where `folder` is no folder.
Result<std::vector<FoundRun>> FindRuns(const std::string& folder);

// "2026-11-21 12:40:02", where we are.
std::string LocalTime(int64_t realtime_ns);

// Whether there is a run at `path`.
bool IsRun(const std::string& path);

// A line for each run in `folder`: when it began, how long it was recorded, how many processes, its
// state (recording, ended, killed, ...), its path and its command. Cuts no path; cuts lines to
// `width` columns unless that is 0.
Result<Output> Runs(const std::string& folder, int width);

}  // namespace crosscut::verbs
