// Threads are looked at one after the other: which samples of several threads are of one look.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "src/analyze/verdict/thread_samples.h"

namespace crosscut::analyze {

// So far apart at most are two of one look.
inline constexpr int64_t kOneLookNs = 5'000'000;

// Calls visit(one, how far away) for those of one look with the lead's, behind it and then before
// it, the nearest first on either side, until that says false. They have an at_ns and a covers_ns,
// as samples have, and are in order of time.
template <class Seen, class Visit>
void ForEachOfLook(const std::vector<Seen>& seen, const ThreadSample& lead, Visit visit) {
  // What a sample covers reaches back to the look before: less than half of that lies between two
  // samples of one look.
  const auto next = std::lower_bound(seen.begin(), seen.end(), lead.at_ns,
                                     [](const Seen& a, int64_t at) { return a.at_ns < at; });
  for (auto at = next; at != seen.end() && at->at_ns - lead.at_ns <= kOneLookNs; ++at) {
    const int64_t behind = at->at_ns - lead.at_ns;
    if (behind <= at->covers_ns / 2 && !visit(*at, behind)) break;
  }
  const int64_t back = std::min(kOneLookNs, lead.covers_ns / 2);
  for (auto at = next; at != seen.begin() && lead.at_ns - (at - 1)->at_ns <= back; --at) {
    if (!visit(*(at - 1), lead.at_ns - (at - 1)->at_ns)) break;
  }
}

}  // namespace crosscut::analyze
