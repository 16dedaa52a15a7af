// How far apart samples of a thread are, where nobody asked for a rate: a short program needs as
// many as a longer one.
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

}  // namespace crosscut::samples
