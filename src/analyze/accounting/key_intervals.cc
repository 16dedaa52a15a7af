#include "src/analyze/accounting/key_intervals.h"

#include "src/analyze/accounting/process_sweep.h"
#include "src/analyze/accounting/sweep.h"

namespace crosscut::analyze {
namespace {

class KeyFold {
 public:
  KeyFold(const ProcessEvents& events, const std::function<void(const KeyInterval&)>& visit)
      : events_(events), visit_(visit) {}

  void Apply(uint32_t change) {
    if (!(change & kSet)) {
      presence_.Move(change);
    } else if (WhatOf(change) == What::kOperation) {
      operation_ = ValueOf(change);
    } else if (WhatOf(change) == What::kStep) {
      control_now_ = control_begins_ = events_.control[ValueOf(change)] != 0;
      left_out_now_ = events_.left_out[ValueOf(change)] != 0;
    } else if (WhatOf(change) == What::kPause) {
      paused_ = ValueOf(change) != 0;
    }
  }

  void Advance(int64_t from, int64_t until) {
    if (control_begins_) control_operation_ = operation_;
    control_begins_ = false;
    if (paused_) return Finish();
    const uint32_t operation = control_now_ ? control_operation_ : operation_;
    const uint32_t index = presence_.Index();
    const LayerSet layers = kLayerSets[control_now_    ? kControlIndex
                                       : left_out_now_ ? LeftOutIndex(index)
                                                       : index];
    if (open_ && now_.operation == operation && now_.layers == layers) {
      now_.end_ns = until;
      return;
    }
    const bool after_gap = !open_;
    Finish();
    now_ = {from, until, operation, layers, after_gap};
    open_ = true;
  }

  void Finish() {
    if (open_) visit_(now_);
    open_ = false;
  }

 private:
  const ProcessEvents& events_;
  const std::function<void(const KeyInterval&)>& visit_;
  Presence presence_;
  KeyInterval now_;
  uint32_t operation_ = 0, control_operation_ = 0;
  bool open_ = false, control_now_ = false, control_begins_ = false, left_out_now_ = false;
  bool paused_ = false;
};

}  // namespace

void VisitKeyIntervals(const trace::Trace& trace, const Accounting& accounting,
                       trace::ProcessId process,
                       const std::function<void(const KeyInterval&)>& visit) {
  const trace::Process& p = trace.processes[process.value];
  const ProcessEvents& events = accounting.events[process.value];
  ProcessSource source =
      SourceOf(trace, accounting.names, accounting.tracks[process.value], events, process);
  KeyFold fold(events, visit);
  Sweep(p.start_ns, p.end_ns, source, fold);
  fold.Finish();
}

}  // namespace crosscut::analyze
