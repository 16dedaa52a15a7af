// How far apart samples of a thread are where nobody asked for a rate, as a short program needs as
// many as a longer one; and how many threads are sampled at once.
#pragma once

#include <algorithm>
#include <cstdint>

namespace crosscut::samples {

// Of a process: 300 samples in the first 0.6 s, then a three hundredth of the time that is sampled,
// up to a limit. The steps have as many of their own, in their first 0.3 s, whatever imports took
// before them: samples are unwanted for the first time in a control step, and then it begins anew.
class Distance {
 public:
  // Sampling begins at `now_ns`; no sample was wanted for `unwanted_ns` so far.
  void Begin(int64_t now_ns, int64_t unwanted_ns) {
    begun_ns_ = now_ns;
    unwanted_before_ns_ = unwanted_ns;
    has_steps_ = false;
  }
  // At that time, since which no sample was wanted for `unwanted_ns` in all; `most_ns` at most.
  int64_t At(int64_t now_ns, int64_t unwanted_ns, int64_t most_ns) {
    if (!has_steps_ && unwanted_ns > unwanted_before_ns_) {
      Begin(now_ns, unwanted_ns);
      has_steps_ = true;
    }
    const int64_t sampled_ns = now_ns - begun_ns_ - (unwanted_ns - unwanted_before_ns_);
    const int64_t nearest_ns = has_steps_ ? kNearestInStepsNs : kNearestNs;
    return std::min(most_ns, std::max(nearest_ns, sampled_ns / kSamplesAtFirst));
  }

 private:
  static constexpr int64_t kSamplesAtFirst = 300;
  static constexpr int64_t kNearestNs = 2'000'000, kNearestInStepsNs = 1'000'000;

  int64_t begun_ns_ = 0, unwanted_before_ns_ = 0;
  bool has_steps_ = false;
};

// How long one look at threads that wait may take: 2 % of a processor in all; the rest come in the
// next looks. Where looks are near one another that is hardly a thread, so each may take 150 us
// until what was taken beyond is 20 ms; that comes back as looks take less.
class Allowance {
 public:
  // Of a look at `now_ns`; the next is `period_ns` later. 0 or less: one thread.
  int64_t At(int64_t now_ns, int64_t period_ns) {
    if (at_ns_ != 0) left_ns_ = std::min(kMostBeyondNs, left_ns_ + (now_ns - at_ns_) / kShare);
    at_ns_ = now_ns;
    return std::min(left_ns_, std::max(period_ns / kShare, kLookNs));
  }
  // What the look took.
  void Spend(int64_t ns) { left_ns_ -= ns; }

 private:
  static constexpr int64_t kShare = 50, kLookNs = 150'000, kMostBeyondNs = 20'000'000;

  int64_t at_ns_ = 0, left_ns_ = kMostBeyondNs;
};

}  // namespace crosscut::samples
