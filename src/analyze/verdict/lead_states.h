// What a process's lead thread does from moment to moment: the layer that it is in, and what kind
// of call it is that it waits in or works on.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::analyze {

// What a span says beyond its layer, told by its name.
enum class Doing : uint8_t {
  kNothing,
  kCollecting,       // garbage
  kCompiling,        // a graph, a kernel
  kPreempted,        // is ready, and has no processor
  kSleeping,         // because the program asked for it
  kLocking,          // waits for a lock, which is how Python waits for threads, too
  kAwaitingLock,     // waits for a lock that Python has for nothing else
  kAwaitingThread,   // waits for what another thread puts into a queue
  kAwaitingProcess,  // waits for what another process sends, or for its end
  kSelecting,        // waits for any of several files, or for its own threads to wake it by one;
                     // for whoever connects
  kFiles,            // reads or writes them
  kSending,          // by a socket, or a pipe: perhaps, but programs write files by io
  kAwaitingDevice,   // waits for a device's work
  kCopying,          // asks for a copy to or from a device and waits for it
  kAllocating,       // memory of a device
};

// Whether who does that waits for threads of its own process.
inline bool WaitsForThreads(Doing doing) {
  return doing == Doing::kLocking || doing == Doing::kAwaitingLock ||
         doing == Doing::kAwaitingThread;
}

// What a span of that name and layer does.
Doing DoingOf(std::string_view name, trace::Layer layer);

// The call by which a program asks for a collection: of others a span has another name.
inline constexpr std::string_view kAskedCollection = "gc.collect";

// From `begin_ns` to `end_ns` the track is in one state.
struct LeadStretch {
  int64_t begin_ns = 0, end_ns = 0;
  trace::Layer layer = trace::Layer::kNone;  // in force: docs/accounting.md, 2
  Doing doing = Doing::kNothing;
  // Of the span whose layer that is, or of a collection of garbage around it; none where that is
  // the base's.
  trace::NameId name;
  trace::NameId operation;  // the innermost; none: there is none
};

// The stretches of one track in order of time. They cover the window without a hole; before and
// after its life, a thread does nothing. Memory depends on the depth of the spans alone.
class LeadCursor {
 public:
  // `trace` and `doing` must outlive it. `doing` is by NameId. Without a track, nothing is known at
  // any time.
  LeadCursor(const trace::Trace& trace, trace::TrackId track, const std::vector<Doing>& doing,
             trace::Interval window);
  // The stretch that `at_ns` lies in. Requires: `at_ns` is in the window and not smaller than in
  // the call before.
  const LeadStretch& At(int64_t at_ns);

 private:
  struct Open {
    int64_t end_ns;
    trace::NameId span;
    trace::Layer layer;  // of the stretches in it, as `doing` and `name`
    Doing doing;
    trace::NameId name, operation;
  };
  void Enter(Open* open, const Open& around) const;
  void ChangeBases(int64_t until_ns);
  void Advance();

  const trace::Trace& trace_;
  const trace::Track* track_;  // null: none
  const std::vector<Doing>& doing_;
  const int64_t end_ns_;
  size_t next_span_ = 0, next_base_ = 0;
  std::vector<Open> open_;  // [0] is the base
  LeadStretch now_;
};

// DoingOf each of the trace's names.
std::vector<Doing> DoingByName(const trace::Trace& trace);

}  // namespace crosscut::analyze
