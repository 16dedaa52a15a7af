// The one definition of a quantile: by nearest rank. It is a value that occurred, and of two in the
// middle the lower one.
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

}  // namespace crosscut::analyze
