// What another process does while this one waits for it: the rank that others wait for in
// collectives, a child that sends what its parent reads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "src/analyze/context.h"
#include "src/analyze/verdict/work_index.h"

namespace crosscut::analyze {

enum class Idle : uint8_t {
  kCounts,  // whatever the process does, it makes others wait
  kSleeps,  // what it waits for itself does not count, but that it sleeps
};
// Of `process`, while one of `times` goes on, which are disjoint and in order. Requires: they are
// on the process's clock.
OthersWork WorkIn(const Context& context, trace::ProcessId process,
                  const std::vector<trace::Interval>& times, Idle idle);

// Of those for which a process may wait. Where several work at a time, each has an equal part. Each
// process is walked through once, however many ask for it: Context::Shared. Any thread.
class RelativesWork {
 public:
  // `context` must outlive it. Requires: all processes have one clock.
  explicit RelativesWork(const Context& context);
  // Of the processes that `process` started, and theirs, in 64 generations at most; where they do
  // nothing then, of the one that started it; where that does nothing, of all others, if the trace
  // has 64 processes at most. Work of which no line is known does not count. Fast where many
  // children of one process ask one behind the other, and where many ask for all.
  OthersWork In(trace::ProcessId process, const std::vector<trace::Interval>& times) const;
  // Of those that `process` started, and theirs, alone.
  OthersWork OfDescendants(trace::ProcessId process,
                           const std::vector<trace::Interval>& times) const;
  struct Wait {
    trace::Interval time;
    int64_t since_ns;  // from when on it may have begun
  };
  // What those that `process` started, and theirs, do before it waits for them, by line: without a
  // pause up to the wait. Where several go on, each has an equal part. No more for each wait than
  // what of it is not the line's; what is more is for the next one, if they go on until then and
  // that may begin where this one ends. Requires: the waits are disjoint and in order.
  std::map<Line, int64_t> Ahead(trace::ProcessId process, const std::vector<Wait>& waits) const;
  // When any of those works that In() would ask behind the descendants, disjoint and in order.
  std::vector<trace::Interval> TimesFor(trace::ProcessId process) const;

 private:
  std::vector<uint32_t> DescendantsOf(uint32_t process) const;
  const WorkPieces& PiecesOf(uint32_t process) const;
  WorkIndex IndexOf(const std::vector<uint32_t>& processes) const;
  // Of the descendants of that process, kept until another one asks.
  const WorkIndex& IndexOfDescendants(uint32_t process) const;
  OthersWork OfAllOthers(uint32_t process, const std::vector<trace::Interval>& times) const;

  const Context& context_;
  std::vector<std::vector<uint32_t>> children_;                    // by process
  mutable std::mutex mutex_;                                       // of what follows
  mutable std::vector<std::unique_ptr<const WorkPieces>> pieces_;  // by process; null: nobody asked
  // That were asked for last: whose descendants, and whose parent.
  mutable uint32_t ancestor_ = UINT32_MAX, parent_ = UINT32_MAX;
  mutable std::unique_ptr<const WorkIndex> of_descendants_, of_parent_,
      of_all_;  // null: nobody asked
};

}  // namespace crosscut::analyze
