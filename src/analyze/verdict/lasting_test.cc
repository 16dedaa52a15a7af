#include "src/analyze/verdict/lasting.h"

#include <gtest/gtest.h>

#include <random>

namespace crosscut::analyze {
namespace {

// Of `n` steps of some 10 ms, those at `at` have 400 ms more of it.
bool LastsWith(int n, const std::vector<int>& at) {
  std::mt19937_64 random(1);
  std::vector<int64_t> parts, wholes;
  for (int i = 0; i < n; ++i) {
    parts.push_back(100'000 + static_cast<int64_t>(random() % 100'000));
    wholes.push_back(10'000'000 + static_cast<int64_t>(random() % 1'000'000));
  }
  for (const int i : at) parts[static_cast<size_t>(i)] += 400'000'000;
  for (const int i : at) wholes[static_cast<size_t>(i)] += 400'000'000;
  return Lasts(parts, wholes);
}

TEST(Lasting, OneOrTwoLongStepsAreNot) {
  EXPECT_FALSE(LastsWith(11, {0}));
  EXPECT_FALSE(LastsWith(100, {0}));
  EXPECT_FALSE(LastsWith(100, {0, 1, 2, 3})) << "they warm up";
  EXPECT_FALSE(LastsWith(100, {50}));
  EXPECT_FALSE(LastsWith(100, {0, 40, 99})) << "a validation and a last batch compile";
  EXPECT_FALSE(LastsWith(100, {}));
}

TEST(Lasting, WhatComesAgainAndAgainIsHoweverFewStepsHaveIt) {
  EXPECT_TRUE(LastsWith(100, {30, 60, 90}));
  EXPECT_TRUE(LastsWith(160, {10, 30, 50, 70, 90, 110, 130, 150}));
  std::vector<int> each_200th;
  for (int i = 199; i < 10'000; i += 200) each_200th.push_back(i);
  EXPECT_TRUE(LastsWith(10'000, each_200th)) << "no more than are left out";
}

TEST(Lasting, WhatAllStepsHaveIs) {
  EXPECT_TRUE(Lasts(std::vector<int64_t>(50, 11), std::vector<int64_t>(50, 100)));
  EXPECT_FALSE(Lasts(std::vector<int64_t>(50, 9), std::vector<int64_t>(50, 100)));
  EXPECT_TRUE(Lasts({1}, {100})) << "a few steps tell nothing";
}

}  // namespace
}  // namespace crosscut::analyze
