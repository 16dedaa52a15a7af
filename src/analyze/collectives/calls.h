// What each process did in collectives: one call for each of them, on the host or on a device.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/analyze/context.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

struct CollectiveCall {
  trace::ProcessId process;
  trace::TrackId track;
  trace::SpanIndex span;
  int64_t begin_ns, end_ns;
  trace::StringId name;            // "gloo:all_reduce", a kernel's name
  trace::StringId group;           // the process group's name; none: not stated
  int64_t group_size = -1;         // -1: not stated
  int64_t sequence = -1;           // which of its group's collectives it is; -1: not stated
  int64_t bytes = -1;              // that this rank hands over; -1: not stated
  int64_t peer = -1;               // whom a send or receive is with; -1: not stated
  bool device = false;             // it is work on a device
  bool pair = false;               // a send or receive, between two ranks
  bool rooted = false;             // one rank sends or receives all: ranks need not leave together
  int64_t step = -1;               // the number of the step in which it begins; -1: in none
  trace::StringId operation = {};  // the lead's innermost operation then; none: none
  int64_t duration() const { return end_ns - begin_ns; }
};

// Whether a span of that name is a collective that the host carries out: "gloo:all_reduce". Those
// of libraries that work on devices (nccl:) only launch it.
bool IsHostCollective(std::string_view name);

// Of all processes, computed once and shared by the tables that show it.
struct CollectiveCalls {
  explicit CollectiveCalls(const Context& context);
  std::vector<CollectiveCall> calls;  // by process, then by begin
};

}  // namespace crosscut::analyze
