#include "src/export/identities.h"

#include <algorithm>
#include <set>

#include "src/base/counted.h"

namespace crosscut::exporting {
namespace {

constexpr int64_t kFirstFreePid = 1'000'000, kFirstFreeTid = 2'000'000'000;

// Ids that are unique among each other, in the order in which they are wanted.
class Numbers {
 public:
  explicit Numbers(int64_t first_free) : free_(first_free) {}
  // Whether it has the id from now on.
  bool Take(int64_t wanted) {
    return wanted > 0 && wanted <= INT32_MAX && taken_.insert(wanted).second;
  }
  int64_t TakeFree() {
    while (!Take(free_)) ++free_;
    return free_;
  }

 private:
  std::set<int64_t> taken_;
  int64_t free_;
};

int64_t EarliestOf(const trace::Trace& trace) {
  int64_t first = 0;
  const auto see = [&first](int64_t at) { first = std::min(first, at); };
  for (const trace::Process& process : trace.processes) {
    see(process.start_ns);
    for (const trace::Step& step : process.steps) see(step.begin_ns);
  }
  for (const trace::Track& track : trace.tracks) {
    if (track.spans.size() > 0) see(track.spans.begin_ns.front());
    for (const int64_t at : track.instants.at_ns) see(at);
    for (const trace::Loss& loss : track.losses) see(loss.begin_ns);
  }
  for (const trace::CounterSeries& series : trace.counters) {
    for (const int64_t at : series.at_ns) see(at);
  }
  return first;
}

}  // namespace

Identities::Identities(const trace::Trace& trace)
    : pids_(trace.processes.size()), tids_(trace.tracks.size()), shift_ns_(-EarliestOf(trace)) {
  uint64_t other_pids = 0, other_tids = 0;
  Numbers pids(kFirstFreePid);
  for (size_t i = 0; i < pids_.size(); ++i) {
    if (pids.Take(trace.processes[i].pid)) pids_[i] = trace.processes[i].pid;
  }
  for (size_t i = 0; i < pids_.size(); ++i) {
    if (pids_[i] != 0) continue;
    pids_[i] = pids.TakeFree();
    other_pids += trace.processes[i].pid != 0 ? 1 : 0;
  }
  const trace::TracksByProcess tracks(trace);
  for (uint32_t p = 0; p < pids_.size(); ++p) {
    Numbers tids(kFirstFreeTid);
    const auto take = [&](uint32_t track, int64_t wanted) {
      if (tids_[track] == 0 && tids.Take(wanted)) tids_[track] = wanted;
    };
    for (const uint32_t t : tracks.of({p})) {
      const bool device = trace.tracks[t].kind == trace::TrackKind::kDevice;
      device ? void(tids_[t] = trace.tracks[t].os_id) : take(t, trace.tracks[t].os_id);
    }
    for (const uint32_t t : tracks.of({p})) {
      if (tids_[t] != 0 || trace.tracks[t].kind == trace::TrackKind::kDevice) continue;
      other_tids += trace.tracks[t].os_id != 0 ? 1 : 0;
      take(t, t + 1);
      if (tids_[t] == 0) tids_[t] = tids.TakeFree();
    }
  }
  const auto tell = [this](uint64_t count, const char* what) {
    if (count > 0) gaps_.push_back(base::Counted(count, what));
  };
  tell(other_pids,
       "{process has an id|processes have ids} that another has, too, or that no system gives: {it "
       "has|they have} another one in this file.");
  tell(other_tids,
       "{row of a thread has an id|rows of threads have ids} that another has, too, or that no "
       "system gives: {it has|they have} another one in this file.");
}

}  // namespace crosscut::exporting
