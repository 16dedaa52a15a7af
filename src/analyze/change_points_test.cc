#include "src/analyze/change_points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace crosscut::analyze {
namespace {

// All orders of the values, one by one.
double ChanceByAllOrders(const std::vector<double>& values, size_t begin, size_t end) {
  const auto rank = [&](double value) {  // doubled
    const auto below =
        std::count_if(values.begin(), values.end(), [&](double v) { return v < value; });
    return 2 * below + std::count(values.begin(), values.end(), value) + 1;
  };
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto mean = static_cast<int64_t>((end - begin) * (values.size() + 1));
  const auto distance = [&] {
    int64_t sum = -mean;
    for (size_t i = begin; i < end; ++i) sum += rank(values[order[i]]);
    return std::abs(sum);
  };
  const int64_t seen = distance();
  double far = 0, all = 0;
  do {
    ++all;
    far += distance() >= seen;
  } while (std::next_permutation(order.begin(), order.end()));
  return far / all;
}

TEST(RankSumChance, IsThatOfAllOrders) {
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    const size_t n = 2 + random() % 6;
    std::vector<double> values(n);
    for (double& value : values) value = static_cast<double>(random() % (i % 2 == 0 ? 4 : 100));
    const size_t begin = random() % n, end = begin + 1 + random() % (n - begin);
    EXPECT_NEAR(RankSumChance(values, begin, end), ChanceByAllOrders(values, begin, end), 1e-12);
  }
}

TEST(RankSumChance, OfTheLowestHalfIsTwoOfAllChoices) {
  std::vector<double> values(60);
  std::iota(values.begin(), values.end(), 0.0);
  EXPECT_NEAR(RankSumChance(values, 0, 30) * 118264581564861424.0 / 2, 1, 1e-9);  // 60 over 30
}

std::vector<double> Noise(std::mt19937* random, size_t n, double spread, double alike = 0) {
  std::normal_distribution<double> normal;
  std::vector<double> values(n);
  double last = normal(*random);
  for (double& value : values) {
    last = alike * last + std::sqrt(1 - alike * alike) * normal(*random);
    value = std::exp(spread * last);
  }
  return values;
}

TEST(FindChanges, FindsNoneInOneOfAThousandSeriesWithoutAny) {
  std::mt19937 random(11);
  int found = 0;
  for (int i = 0; i < 3000; ++i) {
    found += !FindChanges(Noise(&random, 20 + random() % 400, 0.5)).empty();
  }
  EXPECT_LE(found, 9);  // more than 9 where 3 are expected: 1 in 900
}

// Where blocks are longer than noise is alike: 0.5 from each step to the next.
TEST(FindChanges, BearsNeighboursThatAreAlikeInLongSeries) {
  std::mt19937 random(12);
  int found = 0;
  for (int i = 0; i < 1000; ++i) found += !FindChanges(Noise(&random, 1200, 0.3, 0.5)).empty();
  EXPECT_LE(found, 6);
}

// Half of these have a change where each block counts as independent of its neighbours.
TEST(FindChanges, BearsNeighboursThatAreAlikeInShortSeries) {
  std::mt19937 random(16);
  int found = 0;
  for (int i = 0; i < 500; ++i) found += !FindChanges(Noise(&random, 100, 0.2, 0.8)).empty();
  EXPECT_LE(found, 10);
}

TEST(FindChanges, FindsWhatIsClearAmongNeighboursThatAreAlike) {
  std::mt19937 random(17);
  int found = 0;
  for (int i = 0; i < 200; ++i) {
    std::vector<double> values = Noise(&random, 200, 0.05, 0.5);
    for (size_t v = 120; v < 200; ++v) values[v] *= 1.4;
    const std::vector<size_t> at = FindChanges(values);
    found += at.size() == 1 && at[0] >= 117 && at[0] <= 123;
  }
  EXPECT_GE(found, 190);
}

TEST(FindChanges, FindsWhereAChangeBegins) {
  std::mt19937 random(13);
  for (int i = 0; i < 200; ++i) {
    std::vector<double> values = Noise(&random, 60 + random() % 2000, 0.05);
    const size_t n = values.size(), at = n / 8 + random() % (n - n / 4);
    for (size_t v = at; v < n; ++v) values[v] *= 1.4;
    const std::vector<size_t> found = FindChanges(values);
    ASSERT_EQ(found.size(), 1u) << n << " " << at;
    EXPECT_NEAR(static_cast<double>(found[0]), static_cast<double>(at), 3) << n;
  }
}

TEST(FindChanges, FindsASpellAndPhases) {
  std::mt19937 random(14);
  std::vector<double> values = Noise(&random, 600, 0.05);
  for (size_t v = 200; v < 280; ++v) values[v] *= 2;
  std::vector<size_t> found = FindChanges(values);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(static_cast<double>(found[0]), 200, 2);
  EXPECT_NEAR(static_cast<double>(found[1]), 280, 2);
  values = Noise(&random, 600, 0.05);
  for (size_t v = 0; v < 600; ++v) values[v] *= v / 100 % 2 == 0 ? 1 : 1.5;
  found = FindChanges(values);
  ASSERT_EQ(found.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(static_cast<double>(found[i]), static_cast<double>(100 * (i + 1)), 2);
  }
}

// Of 2 to 40 stretches each is found, at its place.
TEST(FindChanges, FindsEachStretchWhereTwoLevelsAlternate) {
  std::mt19937 random(21);
  int right = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<size_t> begins;  // of all but the first
    size_t n = 0;
    const size_t stretches = 2 + random() % 39, usual = 12 + random() % 120;
    for (size_t s = 0; s < stretches; ++s) {
      if (s > 0) begins.push_back(n);
      n += usual + random() % usual;
    }
    std::vector<double> values = Noise(&random, n, 0.03 + 0.01 * (i % 5), 0.1 * (i % 4));
    const double factor = 1.5 + 0.1 * static_cast<double>(random() % 20);
    for (size_t s = random() % 2; s < stretches; s += 2) {
      const size_t end = s + 1 < stretches ? begins[s] : n;
      for (size_t v = s == 0 ? 0 : begins[s - 1]; v < end; ++v) values[v] *= factor;
    }
    for (size_t v = random() % 20; v < n; v += 20 + random() % 50) values[v] *= 4;  // single ones
    const std::vector<size_t> found = FindChanges(values);
    bool same = found.size() == begins.size();
    for (size_t b = 0; same && b < found.size(); ++b) {
      same = found[b] + 3 >= begins[b] && found[b] <= begins[b] + 3;
    }
    right += same;
  }
  EXPECT_GE(right, 380);
}

// Single long steps, at random or each tenth, are no stretches, nor are neighbours that are alike.
TEST(FindChanges, FindsNoStretchesInStableSeries) {
  std::mt19937 random(22);
  int found = 0;
  for (int i = 0; i < 2000; ++i) {
    const size_t n = 60 + random() % 1500;
    std::vector<double> values = Noise(&random, n, 0.02 + 0.01 * (i % 20), 0.1 * (i % 7));
    for (size_t v = 0; v < n; ++v) {
      if (i % 3 == 0 ? v % 10 == 0 : i % 3 == 1 && random() % 4 == 0) values[v] *= 3;
    }
    found += !FindChanges(values).empty();
  }
  EXPECT_LE(found, 40);
}

TEST(FindChanges, JoinsWhatDiffersByLessThanATenth) {
  std::mt19937 random(15);
  std::vector<double> values = Noise(&random, 1000, 0.01);
  for (size_t v = 500; v < 1000; ++v) values[v] *= 1.06;
  EXPECT_TRUE(FindChanges(values).empty());
}

TEST(FindChanges, TakesFewAndEqualValues) {
  EXPECT_TRUE(FindChanges({}).empty());
  EXPECT_TRUE(FindChanges(std::vector<double>{1, 2, 9, 9, 9}).empty());
  EXPECT_TRUE(FindChanges(std::vector<double>(500, 7.0)).empty());
  std::vector<double> zeros(100, 0.0);
  std::fill(zeros.begin() + 50, zeros.end(), 1.0);
  EXPECT_EQ(FindChanges(zeros), (std::vector<size_t>{50}));
}

}  // namespace
}  // namespace crosscut::analyze
