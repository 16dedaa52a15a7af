#include "src/analyze/accounting/key_intervals.h"

#include "src/analyze/accounting/process_sweep.h"
#include "src/analyze/accounting/sweep.h"

namespace crosscut::analyze {
namespace {

class KeyFold {
 public:
  KeyFold(const ProcessEvents& events, const std::function<void(const KeyInterval&)>& visit)
      : state_(events), visit_(visit) {}

  void Apply(uint32_t change) {
    if (change & kSet) {
      state_.Set(change);
    } else {
      presence_.Move(change);
    }
  }

  void Advance(int64_t from, int64_t until) {
    state_.Pass();
    if (state_.paused()) return Finish();
    const uint32_t operation = state_.operation(), index = presence_.Index();
    const LayerSet layers = kLayerSets[state_.nothing_known() ? kControlIndex
                                       : state_.all_known()   ? index
                                                              : LeftOutIndex(index)];
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
  ProcessState state_;
  const std::function<void(const KeyInterval&)>& visit_;
  Presence presence_;
  KeyInterval now_;
  bool open_ = false;
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
