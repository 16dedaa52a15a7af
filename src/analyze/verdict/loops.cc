#include "src/analyze/verdict/loops.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

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
// Pairs of neighbours that are told apart by their distance: in groups of so many at least, so many
// groups at most, if distances differ by that. One in a thousand loops has as many deviations.
constexpr size_t kPairsOfGroup = 16, kMostGroups = 8;
constexpr double kDistancesDiffer = 1.25, kByDistance = 3.1;

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

// Whether it depends on the distance of two samples if the line changes in between: by a
// chi-squared of several groups of distances, which is normal as Wilson and Hilferty have it.
bool ChangesByDistance(const std::vector<Meeting>& meetings) {
  std::vector<std::pair<int64_t, bool>> pairs;
  for (size_t i = 1; i < meetings.size(); ++i) {
    if (meetings[i].thread != meetings[i - 1].thread) continue;
    pairs.emplace_back(meetings[i].at_ns - meetings[i - 1].at_ns,
                       meetings[i].second != meetings[i - 1].second);
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const size_t n = pairs.size(), groups = std::min(kMostGroups, n / kPairsOfGroup);
  const auto distance = [&](size_t at) { return static_cast<double>(pairs[at].first); };
  if (groups < 2 || distance(3 * n / 4) < kDistancesDiffer * distance(n / 4)) return false;
  const auto changes = [&](size_t begin, size_t end) {
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += pairs[i].second ? 1 : 0;
    return sum;
  };
  const double chance = changes(0, n) / static_cast<double>(n);
  if (chance <= 0 || chance >= 1) return false;
  double squares = 0;
  for (size_t g = 0; g < groups; ++g) {
    const size_t begin = g * n / groups, end = (g + 1) * n / groups;
    const auto of_group = static_cast<double>(end - begin);
    const double more = changes(begin, end) - chance * of_group;
    squares += more * more / (of_group * chance * (1 - chance));
  }
  const auto freedom = static_cast<double>(groups - 1);
  const double variance = 2 / (9 * freedom);
  return std::cbrt(squares / freedom) - (1 - variance) > kByDistance * std::sqrt(variance);
}

// Threads that were seen at one of the lines alone say nothing.
bool TakeTurnsWithoutSteps(const std::vector<Meeting>& meetings) {
  double firsts = 0, seconds = 0, changes = 0, chance = 0;
  for (size_t begin = 0, end; begin < meetings.size(); begin = end) {
    double of_first = 0, of_second = 0, changed = 0;
    for (end = begin; end < meetings.size() && meetings[end].thread == meetings[begin].thread;
         ++end) {
      (meetings[end].second ? of_second : of_first) += 1;
      changed += end > begin && meetings[end].second != meetings[end - 1].second;
    }
    if (of_first == 0 || of_second == 0) continue;
    firsts += of_first;
    seconds += of_second;
    changes += changed;
    chance += 2 * of_first * of_second / (of_first + of_second);
  }
  if (std::min(firsts, seconds) < kFewest) return false;
  const double least = chance - kMostDeviations * std::sqrt(chance);
  return changes >= std::max(kLeastChanges * chance, least) && !ChangesByDistance(meetings);
}

}  // namespace

bool TakeTurns(const std::vector<Meeting>& meetings) {
  if (std::all_of(meetings.begin(), meetings.end(), [](const auto& m) { return m.step < 0; })) {
    return TakeTurnsWithoutSteps(meetings);
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
