// Who is sampled in a look, where a look has no time for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

namespace crosscut::samples {

// The leads each time; then those that ran in the last ten seconds, in turn; then all others, in
// turn. Who comes sooner while it runs than while it waits is seen to run more than it does: so it
// comes as soon for long.
class Turns {
 public:
  // The thread runs, or ran since its last sample.
  void Ran(int tid, int64_t now_ns) {
    if (ran_ns_.insert_or_assign(tid, now_ns).second) queue_.push_back(tid);
  }
  // Calls sample(tid), which is false where that thread has no sample now, until `left()`, the time
  // that is left for this look, is 0: once for each lead and each kind of the others at least. A
  // quarter of what the leads leave is for those that did not run. `threads`: by their ids.
  template <class Threads, class Leads, class Sample, class Left>
  void Look(const Threads& threads, const Leads& leads, int64_t now_ns, Sample sample, Left left) {
    for (const int tid : leads) sample(tid);
    const int64_t quarter_ns = left() / 4;
    for (size_t more = queue_.size(); more > 0; --more) {
      const int tid = queue_.front();
      queue_.pop_front();
      if (now_ns - ran_ns_[tid] > kLatelyNs || !threads.contains(tid)) {
        ran_ns_.erase(tid);
        continue;
      }
      queue_.push_back(tid);
      if (sample(tid) && left() <= quarter_ns) break;
    }
    for (size_t more = threads.size(); more > 0; --more) {
      auto next = threads.upper_bound(turn_);
      if (next == threads.end()) next = threads.begin();
      turn_ = next->first;
      if (!ran_ns_.contains(turn_) && sample(turn_) && left() <= 0) break;
    }
  }

 private:
  static constexpr int64_t kLatelyNs = 10'000'000'000;

  std::unordered_map<int, int64_t> ran_ns_;  // when those that ran lately did so for sure
  std::deque<int> queue_;                    // these, the next one first
  int turn_ = 0;                             // whose turn it was last of the others
};

}  // namespace crosscut::samples
