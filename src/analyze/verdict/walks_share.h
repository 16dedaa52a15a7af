// What the walks through the processes of a trace have in common (causes.cc).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/accounting/key_intervals.h"
#include "src/analyze/collectives/rank_waits.h"
#include "src/analyze/context.h"
#include "src/analyze/devices/device_work.h"
#include "src/analyze/verdict/cursors.h"
#include "src/analyze/verdict/host_causes.h"
#include "src/analyze/verdict/lead_states.h"
#include "src/analyze/verdict/others_work.h"
#include "src/analyze/verdict/process_causes.h"
#include "src/analyze/verdict/thread_samples.h"
#include "src/trace/intervals.h"
#include "src/trace/trace.h"

namespace crosscut::analyze {

inline trace::Interval WindowOf(const trace::Process& process) {
  return {process.start_ns, process.end_ns};
}

// When a process's devices were at one type of work.
inline std::vector<trace::Interval> TimesOf(const Context& context, uint32_t process,
                                            WorkType type) {
  std::vector<trace::Interval> times;
  for (const DeviceEvent& event : context.Shared<DeviceWork>().events({process})) {
    if (event.type == type) times.push_back({event.begin_ns, event.end_ns});
  }
  return UnionOf(std::move(times), WindowOf(context.trace().processes[process]));
}

// When others work for which a process may wait that it did not start, asked forwards in time. Who
// is asked nothing looks at none of them.
class OthersAtWork {
 public:
  OthersAtWork(const Context& context, uint32_t process) : context_(context), process_(process) {}
  bool At(int64_t at_ns) {
    const bool any = context_.trace().processes[process_].parent.valid();
    if (!times_) {
      times_.emplace(any ? context_.Shared<RelativesWork>().TimesFor({process_})
                         : std::vector<trace::Interval>());
    }
    return times_->At(at_ns) != nullptr;
  }
  // The next change after the instant of the last At().
  int64_t Until(int64_t at_ns) const { return times_->Until(at_ns); }

 private:
  const Context& context_;
  const uint32_t process_;
  std::optional<BusyCursor> times_;
};

// What holds from begin_ns to end_ns.
struct Moment {
  int64_t begin_ns, end_ns;
  Cause cause;
  bool told;  // in the part that is told apart
  WindowPart part;
  const KeyInterval* key;
  const LeadStretch* lead;
  const RankWait* rank_wait;  // null: none
  bool has_child;             // a process that this one started lives
  bool hidden;                // without it, the step would last as long
  bool others_work = false;   // while it selects: as in Relatives
  // Of `key`; without Python where all that are in it were seen waiting.
  LayerSet layers = 0;
};

// The stretches of a process, asked forwards in time.
class StretchCursor {
 public:
  explicit StretchCursor(const std::vector<Stretch>& stretches) : stretches_(stretches) {}
  const Stretch& At(int64_t at_ns) {
    while (Until() <= at_ns) ++at_;
    return stretches_[at_];
  }
  // Where the one of the last At() ends.
  int64_t Until() const {
    return at_ + 1 < stretches_.size() ? stretches_[at_ + 1].begin_ns : INT64_MAX;
  }

 private:
  const std::vector<Stretch>& stretches_;
  size_t at_ = 0;
};

// Beside a device, and not for it.
inline bool HostWorks(const Moment& now) {
  return (now.layers & kHostBits) != 0 && now.lead->doing != Doing::kAwaitingDevice &&
         now.lead->doing != Doing::kCopying;
}

// Of samples that know it: for how long the lead was ready without a processor, of how long.
struct RunDelays {
  int64_t ns = 0, of_ns = 0, samples = 0;
  void Add(const ThreadSample& sample) {
    if (sample.run_delay_ns < 0) return;
    ns += std::min(sample.run_delay_ns, sample.covers_ns);
    of_ns += sample.covers_ns;
    ++samples;
  }
  double share() const { return Share(ns, of_ns); }
};

// What a signal's handler may interrupt.
inline constexpr std::array kWaits = {Cause::kLock, Cause::kWaiting, Cause::kOtherProcess};

// Whether that sample says that the lead works in a call that waits: in a short one it may be about
// to wait, so it must be one of which a sample stands for no more than all.
inline bool RunsInWait(const Moment& now, const ThreadSample& sample) {
  const LeadStretch& lead = *now.lead;
  return std::ranges::find(kWaits, now.cause) != kWaits.end() && sample.runs &&
         sample.gil == trace::Gil::kHeld && IsOwnLine(sample.line.kind) &&
         sample.at_ns >= lead.begin_ns && sample.at_ns < lead.end_ns &&
         lead.end_ns - lead.begin_ns >= sample.covers_ns;
}

struct WalksShare {
  explicit WalksShare(const Context& context)
      : rank_waits(RankWaits(context)), children(context.trace().processes.size()) {
    for (const trace::StringId operation : context.Shared<Accounting>().names.operations) {
      purposes.push_back(PurposeOf(context.trace().text(operation)));
    }
    for (const trace::Process& child : context.trace().processes) {
      if (!child.parent.valid()) continue;
      children[child.parent.value].push_back({child.start_ns, child.end_ns});
    }
    for (std::vector<trace::Interval>& lives : children) {
      std::sort(lives.begin(), lives.end(),
                [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
    }
  }
  const std::vector<std::vector<RankWait>> rank_waits;
  std::vector<Purpose> purposes;                       // by operation
  std::vector<std::vector<trace::Interval>> children;  // when recorded processes lived, by parent
};

}  // namespace crosscut::analyze
