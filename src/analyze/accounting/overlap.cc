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

// Folds the changes of one process. Sums of the current operation and step are kept by index and
// written to the cells when either changes.
class OverlapFold {
 public:
  OverlapFold(const ProcessEvents& events, const ProbeCosts& costs, ProcessOverlap* out)
      : state_(events), costs_(costs), out_(out) {}

  void Apply(uint32_t change) {
    if (!(change & kSet)) {
      presence_.Move(change);
      if (MoveProbe(change) != 0) CountProbe(MoveProbe(change), MoveOfLead(change));
      return;
    }
    const What what = WhatOf(change);
    if (what == What::kStretch || (what != What::kPause && !state_.nothing_known())) Flush();
    if (what == What::kStretch) EndStep();
    state_.Set(change);
    special_ = state_.paused() || !state_.all_known();
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
    out_->cells = cells_.all();
    for (const Cell& c : out_->cells) out_->window_ns += c.ns;
  }

 private:
  void AdvanceSpecial(int64_t ns) {
    state_.Pass();
    if (state_.paused()) {
      out_->excluded_ns += ns;
    } else if (state_.nothing_known()) {
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
    if (state_.nothing_known()) return;
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
    const Stretch& now = state_.stretch();
    sums_.Drain([&](uint32_t index, const Sums::Sum& sum) {
      Cell cell = {state_.operation(), kLayerSets[index], sum.ns, sum.ps,
                   now.after_switch ? sum.ns : 0};
      cell.unswitched_ps = sum.unswitched_ps;
      cell.part = now.part;
      cell.control = state_.nothing_known() && index == kControlIndex;
      cell.found = state_.found();
      cells_.Add(cell);
      cell.found = 0;
      if (now.step != 0) step_cells_.Add(cell);
    });
  }

  void EndStep() {
    for (const Cell& cell : step_cells_.all()) {
      out_->steps.push_back({state_.stretch().step - 1, cell.operation, cell.layers, cell.ns,
                             cell.probe_ps, cell.unswitched_ps});
    }
    step_cells_.Clear();
  }

  ProcessState state_;
  const ProbeCosts& costs_;
  ProcessOverlap* out_;
  Presence presence_;
  uint32_t index_ = 0;
  bool special_ = false;          // not all is known, or it does not count
  std::vector<Pending> pending_;  // cost of the instants that begin now
  Sums sums_;
  Cells cells_, step_cells_;
};

// One thread alone: its own operation and layer.
class ThreadFold {
 public:
  explicit ThreadFold(const ProcessEvents& events) : state_(events) {}

  void Apply(uint32_t change) {
    if (!(change & kSet)) {
      resource_ = MoveTo(change);
      return;
    }
    if (WhatOf(change) == What::kOperation || WhatOf(change) == What::kStretch) Flush();
    state_.Set(change);
  }

  void Advance(int64_t from, int64_t until) {
    state_.Pass();
    if (state_.paused()) return;
    const bool ours = resource_ >= kOwn && resource_ < kBusy && SetOf(resource_) == kOursAlone;
    const bool unknown = state_.nothing_known() || (!state_.all_known() && !ours);
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
      cells_.Add(state_.operation(), SetOf(r), ns_[r], 0);
      ns_[r] = 0;
    }
  }

  static LayerSet SetOf(int resource) {
    if (resource == kResources) return kControlBit;
    if (resource == kBlocked) return kIdleBit;
    const bool active = resource >= kOwn && resource < kBusy;
    return active ? Bit(ActiveLayer((resource - kOwn) % kActive)) : LayerSet{0};
  }

  ProcessState state_;
  std::array<int64_t, kResources + 1> ns_{};
  Resource resource_ = kAbsent;
  Cells cells_;
};

}  // namespace

ProbeCosts CostsOf(const trace::Process& process, const NameCodes& names) {
  constexpr int64_t kMostPs = 1'000'000'000;
  ProbeCosts costs{};
  for (trace::ProbeCost cost : process.probes) {
    for (int64_t* ps : {&cost.inside_ps, &cost.outside_ps, &cost.low_ps, &cost.high_ps,
                        &cost.unswitched_ps, &cost.unswitched_low_ps, &cost.unswitched_high_ps}) {
      *ps = std::clamp<int64_t>(*ps, 0, kMostPs);
    }
    const auto at = std::find(names.probes.begin() + 1, names.probes.end(), cost.probe);
    if (at != names.probes.end()) costs[static_cast<size_t>(at - names.probes.begin())] = cost;
  }
  return costs;
}

ProcessOverlap ComputeOverlap(const trace::Trace& trace, const NameCodes& names,
                              const ProcessTracks& tracks, const ProcessEvents& events,
                              trace::ProcessId process) {
  const trace::Process& p = trace.processes[process.value];
  ProcessSource source = SourceOf(trace, names, tracks, events, process);
  ProcessOverlap out;
  out.probes.resize(names.probes.size());
  const ProbeCosts costs = CostsOf(p, names);
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
