// Operations that may have another name on either side.
#pragma once

#include <string>
#include <vector>

#include "src/compare/steps.h"
#include "src/compare/undisturbed.h"
#include "src/compare/verdict.h"

namespace crosscut::compare {

// An operation that B has not, and one that A has not, which take as long in a step and are made of
// the same layers. No more than a question: two operations may be so by chance.
struct Rename {
  std::string a, b;
  double a_ns = 0, b_ns = 0;  // of an undisturbed step; b_ns at the pace of A
};
// As long: by this factor at most. The same layers: no more than this share of it lies in others.
inline constexpr double kAsLong = 1.15, kOtherLayers = 0.15;

// Of operations that changed so, and of the runs in which they did. The most alike first; each
// operation once.
std::vector<Rename> RenamesOf(const StepChange& change, const Both<std::vector<RunSteps>>& runs,
                              const Both<std::vector<Undisturbed>>& undisturbed);

// "Renamed? A's load (1.310 ms a step) may be B's read (1.320 ms)."; "" where nothing is.
std::string RenamesText(const std::vector<Rename>& renames);

}  // namespace crosscut::compare
