// How steps, requests and pauses cut the window of one process, as a source of changes for the
// sweeps, and what holds at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analyze/accounting/cells.h"
#include "src/analyze/accounting/cursor.h"
#include "src/analyze/accounting/sweep.h"
#include "src/trace/intervals.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// How much was recorded at a time.
enum class Known : uint8_t { kAll, kMarks, kNothing };

// What the window of a process is cut into.
struct Stretch {         // 16 bytes: a process may handle millions of requests
  int64_t begin_ns = 0;  // it ends where the next one begins
  uint32_t step = 0;     // index into Process::steps + 1; 0: in no step
  WindowPart part = WindowPart::kWhole;
  // Probes that are off for a step stay off until the next step begins or the session ends, even if
  // the program ends the step earlier. That time belongs to no step, but no more is known of it.
  Known known = Known::kAll;
  bool after_switch = false;
};

// The part of the window that a step is.
WindowPart PartOf(const trace::Step& step);

struct ProcessEvents {
  // `served`: when requests were handled, disjoint and in order (trace/requests.h); they count
  // where the process has no steps.
  explicit ProcessEvents(const trace::Process& process,
                         const std::vector<trace::Interval>& served = {});

  // When the probes were off, but for marks if `marks`: sorted, disjoint.
  struct Off {
    int64_t begin_ns, end_ns;
    bool marks;
  };
  std::vector<Off> OffTime() const;

  std::vector<Stretch> stretches;  // by time, the first from the begin of the window
  std::vector<trace::Interval> pauses;
  int64_t end_ns;  // of the window
  // What is told apart of the window: kSteps; without steps kRequests; without these kWhole.
  WindowPart told = WindowPart::kWhole;

 private:
  void Cut(const trace::Process& process, const std::vector<trace::Interval>& served);
};

// What the changes of a process that set something amount to.
class ProcessState {
 public:
  explicit ProcessState(const ProcessEvents& events) : events_(events) {}

  // Requires: `change` has the kSet bit.
  void Set(uint32_t change) {
    const uint32_t value = ValueOf(change);
    switch (WhatOf(change)) {
      case What::kOperation: operation_ = value; break;
      case What::kPart: found_ = value; break;
      case What::kStretch:
        stretch_ = &events_.stretches[value];
        begins_ = true;
        break;
      case What::kPause: paused_ = value != 0; break;
    }
  }
  // Call it when time passes.
  void Pass() {
    if (begins_) first_operation_ = operation_, first_found_ = found_;
    begins_ = false;
  }

  const Stretch& stretch() const { return *stretch_; }
  bool nothing_known() const { return stretch_->known == Known::kNothing; }
  bool all_known() const { return stretch_->known == Known::kAll; }
  bool paused() const { return paused_; }
  // The lead's operation, and the part of it. Where nothing is known they are those that were open
  // when that began.
  uint32_t operation() const { return nothing_known() ? first_operation_ : operation_; }
  uint32_t found() const { return nothing_known() ? first_found_ : found_; }

 private:
  const ProcessEvents& events_;
  const Stretch* stretch_ = events_.stretches.data();
  uint32_t operation_ = 0, found_ = 0, first_operation_ = 0, first_found_ = 0;
  bool begins_ = false, paused_ = false;
};

// Peek and Emit are those of a Source of Sweep (sweep.h).
class EventCursor {
 public:
  // Begins with what holds at `begin_ns`. `events` must outlive the cursor.
  EventCursor(const ProcessEvents& events, int64_t begin_ns);
  int64_t Peek(size_t quota) const;
  void Emit(int64_t from, int64_t until, Records& out);

 private:
  const ProcessEvents& events_;
  size_t stretch_ = 0, pause_ = 0;  // the next ones
  bool paused_ = false;             // in that pause
};

}  // namespace crosscut::analyze
