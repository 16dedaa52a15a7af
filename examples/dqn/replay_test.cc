#include "replay.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>
#include <stdexcept>

#include "schedule.h"

namespace dqn {
namespace {

std::span<const std::byte> Bytes(const int& value) { return std::as_bytes(std::span(&value, 1)); }

int At(const std::vector<std::byte>& column, size_t row) {
  int value = 0;
  std::memcpy(&value, column.data() + row * sizeof value, sizeof value);
  return value;
}

// Transition i: from i to i + 1000 by action i % 7, which gave i / 2.
void AddNumber(int i, Replay* replay) {
  replay->Add(Bytes(i), i % 7, {.reward = i / 2.0f, .terminated = i % 2 == 0, .truncated = true},
              Bytes(i + 1000));
}

TEST(Replay, GivesTransitionsWhole) {
  Replay replay(10, sizeof(int));
  for (int i = 0; i < 10; ++i) AddNumber(i, &replay);
  Random random(3);
  Batch batch;
  replay.Sample(200, &random, &batch);
  ASSERT_EQ(batch.size(), 200u);
  for (size_t row = 0; row < batch.size(); ++row) {
    const int i = At(batch.before, row);
    EXPECT_EQ(At(batch.after, row), i + 1000);
    EXPECT_EQ(batch.action[row], i % 7);
    EXPECT_EQ(batch.reward[row], i / 2.0f);
    EXPECT_EQ(batch.follows[row], i % 2 == 0 ? 0 : 1) << "only what terminated has no future";
  }
}

TEST(Replay, KeepsTheNewestOnly) {
  Replay replay(4, sizeof(int));
  for (int i = 0; i < 3; ++i) AddNumber(i, &replay);
  EXPECT_EQ(replay.size(), 3u);
  const auto kept = [&replay] {
    Random random(5);
    Batch batch;
    replay.Sample(300, &random, &batch);
    std::set<int> numbers;
    for (size_t row = 0; row < batch.size(); ++row) numbers.insert(At(batch.before, row));
    return numbers;
  };
  EXPECT_EQ(kept(), (std::set<int>{0, 1, 2}));
  for (int i = 3; i < 9; ++i) AddNumber(i, &replay);
  EXPECT_EQ(replay.size(), 4u);
  EXPECT_EQ(kept(), (std::set<int>{5, 6, 7, 8}));
}

TEST(Replay, DrawsEachWithEqualProbability) {
  constexpr int kKept = 8, kDraws = 80000;
  Replay replay(kKept, sizeof(int));
  for (int i = 0; i < kKept; ++i) AddNumber(i, &replay);
  Random random(9);
  Batch batch;
  replay.Sample(kDraws, &random, &batch);
  std::array<int, kKept> drawn = {};
  for (size_t row = 0; row < batch.size(); ++row) ++drawn[At(batch.before, row)];
  // Five standard deviations of a binomial of 80,000 and 1/8.
  for (const int count : drawn) EXPECT_NEAR(count, kDraws / kKept, 5 * 94);
}

TEST(Replay, TakesObservationsOfItsSizeOnly) {
  Replay replay(4, 8);
  EXPECT_THROW(AddNumber(1, &replay), std::invalid_argument);
  EXPECT_EQ(replay.size(), 0u);
}

TEST(Schedule, FallsInALineAndStays) {
  const Schedule epsilon = {1.0, 0.2, 100};
  EXPECT_DOUBLE_EQ(epsilon.At(0), 1.0);
  EXPECT_DOUBLE_EQ(epsilon.At(25), 0.8);
  EXPECT_DOUBLE_EQ(epsilon.At(100), 0.2);
  EXPECT_DOUBLE_EQ(epsilon.At(100000), 0.2);
}

}  // namespace
}  // namespace dqn
