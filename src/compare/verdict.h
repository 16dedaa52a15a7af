// Whether a step became slower, with an interval that allows for runs of one program differing.
//
// Runs differ in two ways. In some, the whole program runs at another pace: of 80 runs of one loop
// on a shared machine seven were 6 to 134 % slower than the others in each of their operations. And
// each operation differs by itself, by about 1 % (kLayoutSpread).
// The operation in the middle tells the pace, if the others agree with it. If one operation became
// slower and the others did not, that is told from one run of each side; if all became slower
// alike, it takes several.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/compare/run.h"
#include "src/compare/undisturbed.h"

namespace crosscut::compare {

// Nanoseconds per step: of the side's runs on average, and the 95 % interval of B - A. It goes down
// to `least`, where B takes nothing and A as long as its own interval allows.
struct Change {
  double a = 0, b = 0, low = 0, high = 0, least = 0;
  double ns() const { return b - a; }
  bool told() const { return low > 0 || high < 0; }  // the interval does not hold 0
};

struct OperationChange {
  std::string operation;
  Change change;
  Change own;  // the same at A's pace, if that is known: what it changed by itself
  // `own` is told, were others kSurely times as far apart, and kLeastOfStep of the step at least.
  bool stands_out = false;
  bool is_new() const { return change.a <= 0; }   // A has none of it
  bool is_gone() const { return change.b <= 0; }  // B has none of it
  // How much longer it takes by itself at least, relative to what it takes in A. Of many operations
  // one is soon beyond its interval of 95 %: this one is kSurely times as wide, and so is that of a
  // step where there are several processes or kinds. Requires: it is not new.
  double least_growth() const;
  static constexpr double kSurely = 1.5;
};
inline constexpr double kLeastOfStep = 0.02;

struct StepChange {
  Change step;
  // B's pace / A's: below 1 B is faster in all that it does. 1 where it is not known: too few
  // operations tell, or they differ by more than the pace does.
  double pace = 1;
  bool pace_known = false;
  bool paces_differ = false;                // the latter, and by more than separate runs do anyway
  std::vector<OperationChange> operations;  // by name
  size_t runs_a = 0, runs_b = 0;
};

// How much of A's step the new operations that stand out take at least, beyond what others that
// stand out take less: these may have been renamed, or a part of them has a name of its own now.
// Below 0 where there is no new one.
double GrowthOfNew(const StepChange& change);

// How many runs a side would tell a difference of a step of that size, relative to A, if runs go on
// to differ as much as the interval of `change` allows for; 0: more than kMostRuns.
inline constexpr size_t kMostRuns = 50;
size_t RunsToTell(const StepChange& change, double difference);

// By run of either side. Requires: each side has a run.
StepChange CompareSteps(const std::vector<Undisturbed>& a, const std::vector<Undisturbed>& b);

// How far an operation of one run lies from that of another is known from experience to be about
// kLayoutSpread, but with now and then one that differs by much more: so this counts as little as
// an estimate from kKnownBefore + 1 runs would.
inline constexpr double kKnownBefore = 2;
// The same of a whole step where nothing tells the pace.
inline constexpr double kPaceSpread = 0.04;
// Operations of this part of a step tell the pace, if there are so many.
inline constexpr double kLeastOfPace = 0.02;
inline constexpr size_t kFewestOfPace = 3;
// So many of them may have changed by themselves. Where the others are farther apart than the pace
// differs, each has a pace of its own, and none is taken off: fewer may then have changed.
inline constexpr double kMayChange = 0.4, kFewChange = 0.34;
// An interval reaches at most to e^kMostLog times a figure (a million): it would not fit a number.
inline constexpr double kMostLog = 13.8;

}  // namespace crosscut::compare
