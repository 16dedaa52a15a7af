#include "src/analyze/verdict/loops.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace crosscut::analyze {
namespace {

constexpr int64_t kFewest = 3;
// Of pairs in the steps, so many have either line before the other at least: half of them in a
// loop, none in a sequence. Less where few samples make chance large, but never so little as a
// sequence has whose steps differ: by waits for a processor that nobody tells, a third of a step.
constexpr double kLeastBefore = 0.2, kLeastOfFew = 0.15;
// Of pairs in one step; under so many pairs they say nothing.
constexpr double kLeastInStep = 0.15, kFewestPairs = 10;
// Of the changes that chance alone would make, and how many deviations below it they may be: lines
// that last longer than samples are apart change less often.
constexpr double kLeastChanges = 0.4, kMostDeviations = 2.5;

// Of pairs of both lines, how many have the first before the second, and how many there are.
struct Pairs {
  double before = 0, all = 0;
  bool Mixed(double least) const { return std::min(before, all - before) >= least * all; }
};

// Pairs within one step, in order of time.
Pairs InSteps(const std::vector<Meeting>& meetings) {
  Pairs pairs;
  for (size_t begin = 0, end; begin < meetings.size(); begin = end) {
    double firsts = 0, seconds = 0;
    for (end = begin; end < meetings.size() && meetings[end].step == meetings[begin].step; ++end) {
      if (meetings[end].step < 0) continue;
      if (meetings[end].second) pairs.before += firsts;
      pairs.all += meetings[end].second ? firsts : seconds;
      (meetings[end].second ? seconds : firsts) += 1;
    }
  }
  return pairs;
}

// Pairs of any steps of one kind, by where in them they lie: what follows another in every step of
// one kind may come alone in those of another.
struct PlacePairs : Pairs {
  double firsts = 0, seconds = 0;  // of kinds that have both
};
PlacePairs ByPlace(std::vector<Meeting> meetings) {
  std::erase_if(meetings, [](const Meeting& meeting) { return meeting.step < 0; });
  std::sort(meetings.begin(), meetings.end(), [](const Meeting& a, const Meeting& b) {
    return std::tuple(a.kind, a.within, a.second) < std::tuple(b.kind, b.within, b.second);
  });
  PlacePairs pairs;
  for (size_t begin = 0, end; begin < meetings.size(); begin = end) {
    double firsts = 0, seconds = 0, before = 0;
    for (end = begin; end < meetings.size() && meetings[end].kind == meetings[begin].kind; ++end) {
      if (meetings[end].second) before += firsts;
      (meetings[end].second ? seconds : firsts) += 1;
    }
    if (firsts == 0 || seconds == 0) continue;
    pairs.before += before;
    pairs.all += firsts * seconds;
    pairs.firsts += firsts;
    pairs.seconds += seconds;
  }
  return pairs;
}

}  // namespace

bool TakeTurns(const std::vector<Meeting>& meetings) {
  double firsts = 0, seconds = 0, changes = 0;
  for (size_t i = 0; i < meetings.size(); ++i) {
    (meetings[i].second ? seconds : firsts) += 1;
    changes += i > 0 && meetings[i].second != meetings[i - 1].second;
  }
  if (std::min(firsts, seconds) < kFewest) return false;
  if (std::all_of(meetings.begin(), meetings.end(), [](const auto& m) { return m.step < 0; })) {
    const double chance = 2 * firsts * seconds / (firsts + seconds);
    const double least = chance - kMostDeviations * std::sqrt(chance);
    return changes >= std::max(kLeastChanges * chance, least);
  }
  const PlacePairs by_place = ByPlace(meetings);
  if (std::min(by_place.firsts, by_place.seconds) < kFewest) return false;
  const Pairs in_steps = InSteps(meetings);
  if (in_steps.all >= kFewestPairs && !in_steps.Mixed(kLeastInStep)) return false;
  const double chance = std::sqrt((by_place.firsts + by_place.seconds + 1) /
                                  (12 * by_place.firsts * by_place.seconds));
  return by_place.Mixed(std::max(kLeastOfFew, kLeastBefore - chance));
}

}  // namespace crosscut::analyze
