// Where a series of values changes and stays changed for a while, with a bound on false alarms.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace crosscut::analyze {

// How likely the ranks of [begin, end) are to differ so much from those of the others, or more, if
// the values come in any order: exact, two-sided (Wilcoxon's rank sum; equal values share a rank).
// Requires: at most 60 values, and begin < end.
double RankSumChance(std::span<const double> values, size_t begin, size_t end);

// Where each later segment begins, rising; empty: there is no change. The values are cut into at
// most 60 blocks of neighbours, whose medians are compared: of all windows of blocks (circular
// binary segmentation, Olshen and others 2004) the one whose rank sum lies farthest out, in its
// deviations, is a segment of its own if its chance times the number of windows is at most 0.0005;
// then each segment likewise. So a series without a change, whose blocks come in any order, has one
// with a probability of 0.001 at most (Bonferroni). Where neighbouring blocks are alike beyond the
// segments' own slopes, and not every cut is five deviations high, all is done again with as many
// blocks as are worth as much: (1 - r) / (1 + r) of them, r their correlation.
// Where phases alternate, no window lies far out. So values, or medians of twice as many at a time,
// are two clear levels if these are five deviations apart, and the chance of so few runs of one
// level (Wald and Wolfowitz, exact) is at most 0.000125: then stretches of five or more are
// segments if 95 % of all lie in one of their level, and if they are more segments than windows
// find. Segments that differ by less than a tenth of the lower median are joined. A cut is then
// moved to the value, of the segments on both sides, at which their medians fit best.
std::vector<size_t> FindChanges(std::span<const double> values);

}  // namespace crosscut::analyze
