// Quantiles, defined once. What tables show is a value that occurred, by nearest rank: of two in
// the middle the lower one. What is estimated is between those two.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace crosscut::analyze {

// Where the quantile stands among `count` sorted values, from 0. Requires: there is one.
constexpr size_t RankOf(size_t count, size_t percent) {
  const size_t rank = (count * percent + 99) / 100;
  return rank == 0 ? 0 : rank - 1;
}

// Requires: there are values.
template <class Value>
Value Quantile(std::vector<Value> values, size_t percent) {
  const auto at = values.begin() + static_cast<ptrdiff_t>(RankOf(values.size(), percent));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// Of measurements: the median, of two in the middle their mean. Requires: there are values.
inline double MiddleOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace crosscut::analyze
