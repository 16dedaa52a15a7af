#include "src/analyze/accounting/overlap.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace crosscut::analyze {
namespace {

// Sums by index; remembers which are not zero.
class Sums {
 public:
  // Neither is negative, and one is above 0.
  void Add(uint32_t index, int64_t ns, int64_t ps, int64_t unswitched_ps = 0) {
    Sum& s = sums_[index];
    if (s.ns == 0 && s.ps == 0 && s.unswitched_ps == 0) used_[n_++] = static_cast<uint16_t>(index);
    s.ns += ns;
    s.ps += ps;
    s.unswitched_ps += unswitched_ps;
  }
  int64_t ns(uint32_t index) const { return sums_[index].ns; }
  struct Sum {
    int64_t ns = 0, ps = 0, unswitched_ps = 0;
  };
  template <class F>
  void Drain(F&& take) {
    for (size_t i = 0; i < n_; ++i) {
      Sum& s = sums_[used_[i]];
      take(used_[i], s);
      s = {};
    }
    n_ = 0;
  }

 private:
  std::array<Sum, kLayerIndices> sums_{};
  std::array<uint16_t, kLayerIndices> used_{};
  size_t n_ = 0;
};

// What an event of a probe cost.
struct Pending {
  uint8_t probe;
  int64_t ps, unswitched_ps;
};

using Costs = std::array<trace::ProbeCost, kMaxProbes + 1>;

// Folds the changes of one process. Sums of the current operation and step are kept by index and
// written to the cells when either changes.
class OverlapFold {
 public:
  OverlapFold(const ProcessEvents& events, const Costs& costs, ProcessOverlap* out)
      : events_(events),
        costs_(costs),
        out_(out),
        has_steps_(std::any_of(events.events.begin(), events.events.end(),
                               [](const auto& event) { return event.step != 0; })) {}

  void Apply(uint32_t change) {
    if (change & kSet) {
      Set(WhatOf(change), ValueOf(change));
      return;
    }
    presence_.Move(change);
    if (MoveProbe(change) != 0) CountProbe(MoveProbe(change), MoveOfLead(change));
  }

  void Advance(int64_t from, int64_t until) {
    const int64_t ns = until - from;
    if (special_) [[unlikely]] {
      AdvanceSpecial(ns);
      return;
    }
    Reach(presence_.Index(), ns);
  }

  void Finish() {
    PlacePending();
    Flush();
    EndStep();
    PlaceAfterStep(/*last=*/true);
    out_->cells = cells_.all();
    for (const Cell& c : out_->cells) out_->window_ns += c.ns;
  }

 private:
  void Set(What what, uint32_t value) {
    if (what == What::kOperation) {
      if (!control_now_) Flush();
      operation_ = value;
    } else if (what == What::kPart) {
      if (!control_now_) Flush();
      found_ = value;
    } else if (what == What::kStep) {
      Flush();
      EndStep();
      step_ = events_.in_step(value) ? value : 0;
      serving_now_ = value == events_.serving();
      if (step_ != 0 || serving_now_) PlaceAfterStep(/*last=*/false);
      steps_begun_ |= step_ != 0 || serving_now_;
      control_now_ = control_begins_ = events_.control[value] != 0;
      left_out_now_ = events_.left_out[value] != 0;
    } else {
      paused_ = value != 0;
    }
    special_ = control_now_ || left_out_now_ || paused_;
  }

  void AdvanceSpecial(int64_t ns) {
    if (control_begins_) control_operation_ = operation_, control_found_ = found_;
    control_begins_ = false;
    if (paused_) {
      out_->excluded_ns += ns;
    } else if (control_now_) {
      sums_.Add(kControlIndex, ns, 0);
    } else {
      Reach(LeftOutIndex(presence_.Index()), ns);
    }
  }

  void Reach(uint32_t index, int64_t ns) {
    index_ = index;
    sums_.Add(index_, ns, 0);
    if (!pending_.empty()) PlacePending();
  }

  // A probe's cost falls into the instants of index_. Our own work is timed, that of its probes,
  // too.
  void Place(const Pending& cost) {
    if ((cost.ps == 0 && cost.unswitched_ps == 0) || kLayerSets[index_] == kOursAlone) return;
    out_->probes[cost.probe].in_cells_ps += cost.ps;
    out_->probes[cost.probe].unswitched_in_cells_ps += cost.unswitched_ps;
    sums_.Add(index_, 0, cost.ps, cost.unswitched_ps);
  }
  void PlacePending() {
    for (const Pending& cost : pending_) Place(cost);
    pending_.clear();
  }

  // The inside part falls into the instants that begin now, the outside part into those before.
  void CountProbe(uint8_t probe, bool lead) {
    ProbeCounts& n = out_->probes[probe];
    int64_t sharing = 1;  // threads that work at once while the lead waits
    if (lead) {
      ++n.lead;
    } else if (presence_.Waits()) {
      ++n.waited;
      sharing = std::max<int64_t>(1, presence_.Working());
    } else {
      ++n.other;
      return;
    }
    if (control_now_) return;
    pending_.push_back(
        {probe, costs_[probe].inside_ps / sharing, costs_[probe].unswitched_ps / sharing});
    const Pending outside = {probe, costs_[probe].outside_ps / sharing, 0};
    if (sums_.ns(index_) != 0) {
      Place(outside);
    } else {
      pending_.push_back(outside);
    }
  }

  void Flush() {
    sums_.Drain([this](uint32_t index, const Sums::Sum& sum) {
      const bool control = control_now_ && index == kControlIndex;
      Cell cell = {control ? control_operation_ : operation_, kLayerSets[index], sum.ns, sum.ps,
                   events_.after_switch[step_] != 0 ? sum.ns : 0};
      cell.unswitched_ps = sum.unswitched_ps;
      cell.part = control_now_     ? WindowPart::kControl
                  : left_out_now_  ? WindowPart::kLeftOut
                  : step_ != 0     ? WindowPart::kSteps
                  : serving_now_   ? WindowPart::kRequests
                  : events_.serves ? WindowPart::kBetweenRequests
                                   : WindowPart::kBetween;
      cell.control = control;
      cell.found = control ? control_found_ : found_;
      if (step_ != 0) {
        Cell whole = cell;
        whole.found = 0;
        step_cells_.Add(whole);
      } else if (steps_begun_ && !serving_now_) {
        after_step_.Add(cell);
        return;
      } else if (!steps_begun_) {
        cell.part = has_steps_ ? WindowPart::kStartUp : WindowPart::kWhole;
      }
      cells_.Add(cell);
    });
  }

  void EndStep() {
    if (step_ == 0) return;
    for (const Cell& cell : step_cells_.all()) {
      out_->steps.push_back(
          {step_ - 1, cell.operation, cell.layers, cell.ns, cell.probe_ps, cell.unswitched_ps});
    }
    step_cells_.Clear();
  }

  // What came after the last step is the shutdown if no other one begins.
  void PlaceAfterStep(bool last) {
    for (Cell cell : after_step_.all()) {
      if (last) cell.part = WindowPart::kShutdown;
      cells_.Add(cell);
    }
    after_step_.Clear();
  }

  const ProcessEvents& events_;
  const Costs& costs_;
  ProcessOverlap* out_;
  Presence presence_;
  uint32_t index_ = 0;
  uint32_t operation_ = 0, control_operation_ = 0, step_ = 0;
  uint32_t found_ = 0, control_found_ = 0;
  bool special_ = false, control_now_ = false, control_begins_ = false, paused_ = false;
  bool left_out_now_ = false, serving_now_ = false;
  std::vector<Pending> pending_;  // cost of the instants that begin now
  const bool has_steps_;          // or requests, in the window
  bool steps_begun_ = false;
  Sums sums_;
  Cells cells_, step_cells_, after_step_;
};

// One thread alone: its own operation and layer.
class ThreadFold {
 public:
  explicit ThreadFold(const ProcessEvents& events) : events_(events) {}

  void Apply(uint32_t change) {
    if (!(change & kSet)) {
      resource_ = MoveTo(change);
    } else if (WhatOf(change) == What::kOperation) {
      Flush();
      operation_ = ValueOf(change);
    } else if (WhatOf(change) == What::kStep) {
      Flush();
      control_now_ = control_begins_ = events_.control[ValueOf(change)] != 0;
      left_out_now_ = events_.left_out[ValueOf(change)] != 0;
    } else if (WhatOf(change) == What::kPause) {
      paused_ = ValueOf(change) != 0;
    }
  }

  void Advance(int64_t from, int64_t until) {
    if (control_begins_) control_operation_ = operation_;
    control_begins_ = false;
    if (paused_) return;
    const bool ours = resource_ >= kOwn && resource_ < kBusy && SetOf(resource_) == kOursAlone;
    const bool unknown = control_now_ || (left_out_now_ && !ours);
    ns_[unknown ? kResources : resource_] += until - from;
  }

  std::vector<Cell> Finish() {
    Flush();
    return cells_.all();
  }

 private:
  void Flush() {
    for (int r = 0; r <= kResources; ++r) {
      if (ns_[r] == 0) continue;
      const bool control = r == kResources && control_now_;
      cells_.Add(control ? control_operation_ : operation_, SetOf(r), ns_[r], 0);
      ns_[r] = 0;
    }
  }

  static LayerSet SetOf(int resource) {
    if (resource == kResources) return kControlBit;
    if (resource == kBlocked) return kIdleBit;
    const bool active = resource >= kOwn && resource < kBusy;
    return active ? Bit(ActiveLayer((resource - kOwn) % kActive)) : LayerSet{0};
  }

  const ProcessEvents& events_;
  std::array<int64_t, kResources + 1> ns_{};
  Resource resource_ = kAbsent;
  uint32_t operation_ = 0, control_operation_ = 0;
  bool control_now_ = false, control_begins_ = false, left_out_now_ = false, paused_ = false;
  Cells cells_;
};

Costs CostsOf(const trace::Process& process, const NameCodes& names) {
  Costs costs{};
  for (const trace::ProbeCost& cost : process.probes) {
    for (size_t i = 1; i < names.probes.size(); ++i) {
      if (names.probes[i] != cost.probe) continue;
      costs[i] = cost;
      costs[i].inside_ps = std::max<int64_t>(0, cost.inside_ps);
      costs[i].outside_ps = std::max<int64_t>(0, cost.outside_ps);
      costs[i].unswitched_ps = std::max<int64_t>(0, cost.unswitched_ps);
    }
  }
  return costs;
}

}  // namespace

ProcessOverlap ComputeOverlap(const trace::Trace& trace, const NameCodes& names,
                              const ProcessTracks& tracks, const ProcessEvents& events,
                              trace::ProcessId process) {
  const trace::Process& p = trace.processes[process.value];
  ProcessSource source = SourceOf(trace, names, tracks, events, process);
  ProcessOverlap out;
  out.probes.resize(names.probes.size());
  const Costs costs = CostsOf(p, names);
  OverlapFold fold(events, costs, &out);
  Sweep(p.start_ns, p.end_ns, source, fold);
  fold.Finish();
  return out;
}

int64_t Inclusive(const std::vector<Cell>& cells, LayerSet part) {
  int64_t ns = 0;
  for (const Cell& c : cells) {
    if ((c.layers & part) == part) ns += c.ns;
  }
  return ns;
}

ThreadTime ComputeThreadTime(const trace::Trace& trace, const NameCodes& names,
                             const ProcessEvents& events, uint32_t track) {
  const trace::Track& t = trace.tracks[track];
  const trace::Process& p = trace.processes[t.process.value];
  const trace::Interval life = {std::max(p.start_ns, t.begin_ns), std::min(p.end_ns, t.end_ns)};
  ThreadTime out;
  if (life.begin_ns >= life.end_ns) return out;
  ProcessSource source = {{}, EventCursor(events, life.begin_ns)};
  source.tracks.emplace_back(t, names, Role::kLead, life);
  ThreadFold fold(events);
  Sweep(life.begin_ns, life.end_ns, source, fold);
  out.cells = fold.Finish();
  for (const Cell& c : out.cells) out.life_ns += c.ns;
  return out;
}

}  // namespace crosscut::analyze
