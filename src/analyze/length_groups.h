// Steps that differ in length by what they do: an update each fourth, an evaluation each hundredth.
#pragma once

#include <cstddef>
#include <vector>

namespace crosscut::analyze {

// The median's distance to the values, as a standard deviation; at least what clocks and caches
// make. Requires: there are values.
double SpreadAround(double centre, std::vector<double> values);

// Groups of lengths, given as logarithms, that lie apart: 1.3 times, and four of the larger group's
// spreads from centre to centre, with 2 % of all and six lengths in each. At most four.
class LengthGroups {
 public:
  explicit LengthGroups(std::vector<double> log_lengths);
  size_t count() const { return ends_.size() + 1; }
  // From 0, that of the shortest, to count() - 1.
  size_t Of(double log_length) const;

 private:
  std::vector<double> ends_;  // of all groups but the last
};

}  // namespace crosscut::analyze
