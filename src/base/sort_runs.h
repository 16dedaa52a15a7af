// Sorts what is mostly in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace crosscut::base {

// A stable sort that is quick where few sorted runs follow one another, as in the rows of most
// files.
template <class T, class Before>
void SortRuns(std::vector<T>* all, Before before) {
  std::vector<size_t> runs = {0};
  for (size_t i = 1; i < all->size(); ++i) {
    if (before((*all)[i], (*all)[i - 1])) runs.push_back(i);
  }
  constexpr size_t kShortRun = 16;
  if (runs.size() > 1 + all->size() / kShortRun) {
    std::stable_sort(all->begin(), all->end(), before);
    return;
  }
  runs.push_back(all->size());
  const auto at = [&](size_t i) { return all->begin() + static_cast<ptrdiff_t>(runs[i]); };
  while (runs.size() > 2) {
    std::vector<size_t> merged = {0};
    for (size_t i = 2; i < runs.size(); i += 2) {
      std::inplace_merge(at(i - 2), at(i - 1), at(i), before);
      merged.push_back(runs[i]);
    }
    if (runs.size() % 2 == 0) merged.push_back(runs.back());
    runs = std::move(merged);
  }
}

}  // namespace crosscut::base
