// When the lead waits for what another thread does (a result, an item of a queue, its end), its
// span says that it waits for a lock: that is how Python waits for anything. The stack of a sample
// tells the two apart, and what worked meanwhile is what the lead waited for.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "src/analyze/verdict/blamed_lines.h"
#include "src/analyze/verdict/cause.h"
#include "src/analyze/verdict/lead_time.h"
#include "src/analyze/verdict/thread_samples.h"

namespace crosscut::analyze {

// The lead's waits for locks in one process, by what worked meanwhile: the cause that it would be
// if the lead did it itself; kWaiting where nothing did.
class AwaitedThreads {
 public:
  struct Lead {
    bool awaits;        // AwaitsThread, or its span says so
    bool future;        // AwaitsFuture
    bool span;          // its span says that it awaits no lock
    int64_t covers_ns;  // of its sample
  };
  // While `behind` went on, the lead waited for a lock.
  void AddLead(Cause behind, Lead lead, const LeadPiece& piece);
  // And another thread worked at that line, in the stretch of the last AddLead; or none did at any,
  // and the line is the lead's.
  void AddWork(Cause behind, bool other, const Line& line, const Blamed& blamed) {
    if (awaits_) (other ? of(behind).others : of(behind).alone).Add(line, blamed);
  }
  // A sample of another thread while the lead awaited one. `has_child`: a process lives that this
  // one started.
  void AddOther(Cause behind, const ThreadSample& other, bool has_child);

  struct Moved {
    Cause to = Cause::kLock;  // kLock: nothing
    LeadTime lead;            // what is moved
    BlamedLines to_lines;     // of who worked; the lead's where nobody did at a line
  };
  // What of the time in which `behind` went on was no wait for a lock.
  Moved Move(Cause behind) const;

 private:
  // Samples of others, by what ran.
  struct Run {
    int64_t in_native = 0, in_interpreter = 0, locked = 0;
    void Add(const ThreadSample& sample) {
      in_native += sample.runs && sample.code == Code::kNative;
      in_interpreter += sample.runs && sample.code == Code::kInterpreter;
      locked += sample.locked;
    }
  };
  struct Behind {
    Blamed all;
    int64_t by_span_ns = 0;  // of `awaiting`
    LeadTime awaiting;
    Told futures;
    int64_t others_awaiting_child = 0, others_running = 0, others_at_lines = 0;
    Run others_run;                        // at lines of the program, or known by their native code
    std::map<uint32_t, Run> without_line;  // the others, by ThreadSample::stack
    Told others, alone;  // while the lead awaited: of those that worked at lines, and else its own
    Told items;          // of what a pool gave to others, at lines of the program
    // For how long one of these was seen, of how long in which the lead was seen to await a future.
    int64_t items_ns = 0, futures_ns = 0, items_until_ns = INT64_MIN;
    // Whether native code ran on more of the others' samples than Python.
    bool IsNative() const;
  };
  Behind& of(Cause behind) { return behind_[static_cast<size_t>(behind)]; }

  std::array<Behind, kCauses> behind_;
  bool awaits_ = false;  // of the last AddLead
};

}  // namespace crosscut::analyze
