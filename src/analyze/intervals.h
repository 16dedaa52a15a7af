// Intervals that hold the truth in 95 of 100 runs, defined once.
#pragma once

#include <span>

namespace crosscut::analyze {

// The factor that makes a standard error with `freedom` degrees of freedom half of a 95 % interval:
// about Student's t, with an addition for what a bootstrap of so few blocks lacks.
double StudentFactor(double freedom);

// sum of parts / sum of wholes, and half of its 95 % interval.
struct Ratio {
  double value = 0, half = 0;
};

// `parts` and `wholes`: of one thing after the other, such as steps. Neighbours are alike, so what
// tells is how the sums of blocks of them differ: of all blocks, those over the end included, which
// go on at the begin. The number of a block's things is the square root of all, the usual
// compromise. Few blocks spread less than many: by the things that a block has of all, and as
// Student's factor says. In simulations of independent normal and skewed steps the interval held
// the truth in 92 to 98 % (intervals_test.cc); of 20 steps that are alike to their neighbours by
// 0.5 in 87 to 92 %. `half` is infinite where there are fewer than three.
// Requires: as many wholes as parts, and their sum is above 0.
Ratio RatioOf(std::span<const double> parts, std::span<const double> wholes);

struct ShareBounds {
  double low, high;
};

// 95 % bounds of a share of which `draws` independent draws met `share` (Wilson's); 0 and 1 without
// draws.
ShareBounds SharesOfDraws(double share, double draws);

}  // namespace crosscut::analyze
