// What a process's time was spent on, as every view shows it: of its observed steps where it has
// any, else of the time with requests, else of its whole window. So the shares in all views are
// shares of the same time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/report/data.h"

namespace crosscut::report {

// An operation, or outside of operations a line of the program.
struct Work {
  std::string name;  // "(no line seen)" where neither is known
  int64_t wall_ns = 0, corrected_ns = 0;
  std::map<std::string, int64_t> layers;  // by LayersText()
};

struct ProcessWork {
  std::string_view part;   // "steps", "requests", or "": the whole window
  int64_t wall_ns = 0;     // the sum of all work
  std::vector<Work> work;  // in the order of the table, which has the longest first
};

// Of the process with that key, from the tables part_work and window_parts.
ProcessWork WorkOf(const ReportData& data, std::string_view process);

// A set of layers for people: "framework+python", "device", "unknown".
std::string LayersText(std::string_view layers, bool device);

}  // namespace crosscut::report
