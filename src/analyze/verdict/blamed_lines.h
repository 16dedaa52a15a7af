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

}  // namespace crosscut::analyze
