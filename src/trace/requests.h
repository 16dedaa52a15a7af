// Requests: units of work like steps, each with a begin and an end of its own, but many at once. In
// a trace they are spans of names of kind STEP on asynchronous tracks.
#pragma once

#include <cstdint>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::trace {

struct Request {
  int64_t begin_ns = 0, end_ns = 0;  // what is open ends with its session
  StringId name;                     // of its route or handler
  int64_t running_ns = -1;           // for how long a thread worked for it; below 0: not known
  bool task = false;                 // of no protocol: a task or call of a function that came again
  bool open = false;                 // its end is not known
};

// So many tasks of one function make requests of them.
inline constexpr int64_t kFewestTasks = 10;

// By process: its requests by begin. Tasks are requests only where nothing else repeats: in a
// process without steps and without other requests.
std::vector<std::vector<Request>> RequestsByProcess(const Trace& trace);

// When at least one was handled: disjoint, in order. Requires: `requests` are in order of begin.
std::vector<Interval> Served(const std::vector<Request>& requests);

// Whether handling requests is what the process does, by samples of its lead: not where that runs
// ten times longer since the first one outside of all than they take (a program that computes, and
// answers who asks for its figures). `served`: of Served().
bool IsServer(const Trace& trace, ProcessId process, const std::vector<Interval>& served);

// Whether samples see the process's lead run for a tenth of `time`, in which others handle
// requests: who asks for them does, who started the servers and waits does not.
bool RunsBeside(const Trace& trace, ProcessId process, Interval time);

}  // namespace crosscut::trace
