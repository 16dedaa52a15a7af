#include "src/base/sort_runs.h"

#include <gtest/gtest.h>

#include <random>

namespace crosscut::base {
namespace {

TEST(SortRuns, SortsAsStableSortDoes) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    // Runs of random lengths, of keys that repeat; the second says where they stood.
    std::vector<std::pair<int, int>> all;
    const size_t size = random() % 300, length = 1 + random() % 100;
    for (int key = 0; all.size() < size; key = static_cast<int>(random() % 20)) {
      for (size_t i = 0; i < length && all.size() < size; ++i) {
        all.emplace_back(key += static_cast<int>(random() % 2), static_cast<int>(all.size()));
      }
    }
    const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::vector<std::pair<int, int>> expected = all;
    std::stable_sort(expected.begin(), expected.end(), before);
    SortRuns(&all, before);
    ASSERT_EQ(all, expected);
  }
}

}  // namespace
}  // namespace crosscut::base
