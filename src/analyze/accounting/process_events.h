// Steps and pauses of one process as a source of changes for the sweeps.
#pragma once

#include <cstdint>
#include <vector>

#include "src/analyze/accounting/sweep.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

// Makes intervals sorted, disjoint, inside the window and not empty: where two overlap, the later
// one begins where the earlier one ends. Appends to `origins`, unless it is null, the input's index
// of each interval returned.
std::vector<trace::Interval> Disjoint(const std::vector<trace::Interval>& intervals,
                                      trace::Interval window,
                                      std::vector<uint32_t>* origins = nullptr);

struct ProcessEvents {
  // `served`: when requests were handled, disjoint and in order (trace/requests.h); they count
  // where the process has no steps.
  explicit ProcessEvents(const trace::Process& process,
                         const std::vector<trace::Interval>& served = {});

  struct Event {
    int64_t at_ns;
    // From here on: index into Process::steps + 1, or 0 outside every step, or after_control(), or
    // after_left_out(), or serving().
    uint32_t step;
    bool paused;
  };
  // The values of Event::step between a control step, or one that was left out, and the next step.
  // Probes that are off for such a step stay off until the next step begins or the session ends,
  // even if the program ends the step earlier. That time belongs to no step, but no more is known
  // of it.
  uint32_t after_control() const { return static_cast<uint32_t>(control.size()) - 3; }
  uint32_t after_left_out() const { return after_control() + 1; }
  // While a request is handled, in no step.
  uint32_t serving() const { return after_control() + 2; }
  bool in_step(uint32_t step) const { return step != 0 && step < after_control(); }
  // When the probes were off, but for marks if `marks`: sorted, disjoint.
  struct Off {
    int64_t begin_ns, end_ns;
    bool marks;
  };
  std::vector<Off> OffTime() const;

  bool serves = false;                                   // requests, and has no steps
  std::vector<Event> events;                             // by time
  std::vector<uint8_t> control, left_out, after_switch;  // by Event::step
  std::vector<trace::Interval> pauses;
};

// Peek and Emit are those of a Source of Sweep (sweep.h).
class EventCursor {
 public:
  // Begins with what holds at `begin_ns`. `events` must outlive the cursor.
  EventCursor(const ProcessEvents& events, int64_t begin_ns);
  int64_t Peek(size_t quota) const;
  void Emit(int64_t from, int64_t until, Records& out);

 private:
  const std::vector<ProcessEvents::Event>& events_;
  size_t next_ = 0;
  uint32_t told_step_ = 0;
  bool told_paused_ = false;
};

}  // namespace crosscut::analyze
