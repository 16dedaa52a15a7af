// Lines of the program, and what samples put down to them.
#pragma once

#include <cstdint>
#include <map>

#include "src/trace/trace.h"

namespace crosscut::analyze {

struct ById {
  bool operator()(trace::StringId a, trace::StringId b) const { return a.value < b.value; }
};
// What samples put down to a line.
struct Blamed {
  int64_t ns = 0, samples = 0;
};

using BlamedLines = std::map<trace::StringId, Blamed, ById>;

// Puts it down to the line, if there is one.
inline void AddLine(trace::StringId line, const Blamed& more, BlamedLines& lines) {
  if (!line.valid()) return;
  Blamed& sum = lines[line];
  sum.ns += more.ns;
  sum.samples += more.samples;
}

}  // namespace crosscut::analyze
