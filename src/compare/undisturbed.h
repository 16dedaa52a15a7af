// What a step takes while nothing else disturbs it: the figure by which runs are compared.
//
// A machine that others use makes work longer, never shorter: on such a one two runs of one program
// differ much in their mean step and in their median, and little in the fastest tenth of each
// operation (docs/diff.md). Operations are taken one by one, because a short stretch of work is
// more often left alone than a whole step.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "src/compare/steps.h"

namespace crosscut::compare {

// Of the lengths of an operation, in the steps in which it occurs, those of these ranks count.
inline constexpr double kFastestFrom = 0.02, kFastestTo = 0.1;
inline constexpr size_t kFewestFastest = 3;  // at least so many steps
// A run needs so many steps: with fewer, the fastest tenth would be one or two of them.
inline constexpr size_t kFewestSteps = 20;

struct Figure {
  double ns = 0;
  double error = 0;  // standard error of ns, from the run itself
  // That of log(ns); infinite where ns is 0 or less in the run or in most of it.
  double log_error = std::numeric_limits<double>::infinity();
  // By how much ns is too low, at most log_error. That a part of the run was disturbed more than
  // the others says that ns may be too high, and not that it is too low.
  double log_error_above = std::numeric_limits<double>::infinity();
  double waits_ns = 0;  // the part of ns in which no thread of the host worked
  double works_ns() const { return ns - waits_ns; }
};

// Nanoseconds per step of one run, without Crosscut's own cost. An operation that does not occur in
// every step counts by how often it does.
struct Undisturbed {
  std::map<std::string, Figure> operations;
  Figure step;                 // their sum
  std::vector<double> by_key;  // by RunSteps::keys: sum to the step
};

// Errors come from a jackknife over eight stretches of the run, so neighbouring steps may depend on
// each other. Takes O(n log n) time.
Undisturbed MeasureUndisturbed(const RunSteps& run);

}  // namespace crosscut::compare
