// Which calls of the ranks are one collective, and who waited in it for whom.
//
// Calls are matched by process group, restart of the job, and ordinal in the group; without
// ordinals by step, name and ordinal in the step, else by name and ordinal, where all ranks have as
// many. What does not match is counted and never guessed.
//
// A rank waits in a collective until the last one comes. Where the ranks share a clock, begins say
// who came last, and until when the others waited. Elsewhere all leave together, so the one with
// the shortest stay came last, and what the others stayed beyond that is waiting. That does not
// hold for collectives with a root, such as broadcast.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analyze/collectives/calls.h"
#include "src/analyze/context.h"

namespace crosscut::analyze {

// Whether the stamps of all processes are of one clock: a recording of one host.
bool SharesClock(const trace::Trace& trace);

struct Collective {
  std::vector<uint32_t> calls;     // into CollectiveCalls::calls: one of each rank, by process
  std::vector<int64_t> waited_ns;  // by `calls`: for the last one to come
  std::vector<int64_t> saved_ns;   // by `calls`: the part of it after all others had come
  uint32_t last = 0;               // into `calls`: who came last
  int64_t skew_ns = 0;             // from who came first to who came last
  int64_t transfer_ns = 0;         // from then on to the first end of those that had not left
  trace::ProcessId job = {};       // who started its ranks; none: all of its group are of one job
};

enum class NotMatched : uint8_t {
  kPair,            // a send or receive
  kGroupNotStated,  // three processes or more have calls of the name, perhaps of several groups
  kRankMissing,     // not all ranks of the group have it
  kCountsDiffer,
  kNamesDiffer,
  kSizesDiffer,  // of one in which all ranks move as many bytes
  kApart,        // on a common clock, they were not in it at the same time
  kAmbiguous,    // several ranks of the trace have the same number
  kNoClock,      // it has a root, and nothing says who came last
};
const char* NotMatchedName(NotMatched why);

struct Unmatched {
  trace::ProcessId process;
  trace::StringId group, name;
  NotMatched why;
  int64_t count;
};

// Of all processes, computed once and shared by the tables that show it.
struct Collectives {
  explicit Collectives(const Context& context);
  std::vector<Collective> matched;   // by the begin of the first of its calls
  std::vector<Unmatched> unmatched;  // by process, group, name, reason
};

}  // namespace crosscut::analyze
