#include "src/runtime/plan.h"

#include <gtest/gtest.h>

namespace crosscut::record {
namespace {

StepPlan PlanOf(uint64_t seed, const char* text, double control_percent = -1) {
  format::StepShares shares = {};
  char why[160];
  EXPECT_TRUE(format::ParseStepShares(text, control_percent, &shares, why, sizeof why)) << why;
  StepPlan plan;
  plan.Set(seed, shares);
  return plan;
}

double ShareOf(const StepPlan& plan, format::StepLevel level, uint64_t steps) {
  uint64_t count = 0;
  for (uint64_t step = 0; step < steps; ++step) count += plan.LevelOf(step) == level;
  return static_cast<double>(count) / static_cast<double>(steps);
}

TEST(StepPlan, GivesControlItsShareOfTheSteps) {
  for (const double percent : {1.0, 5.0, 10.0, 25.0, 50.0, 80.0, 100.0}) {
    const StepPlan plan = PlanOf(7, "full", percent);
    EXPECT_NEAR(ShareOf(plan, format::kLevelControl, 300'000), percent / 100, 0.01) << percent;
  }
}

TEST(StepPlan, WithoutAShare_RecordsEverything) {
  const StepPlan plan = PlanOf(7, "full", 0);
  EXPECT_EQ(ShareOf(plan, format::kLevelEverything, 10'000), 1.0);
}

TEST(StepPlan, KeepsOneLevelForAWholeBlock) {
  const StepPlan plan = PlanOf(99, "full", 20);
  for (uint64_t step = 0; step < 10'000; ++step) {
    EXPECT_EQ(plan.LevelOf(step),
              plan.LevelOf(step / StepPlan::kBlockSteps * StepPlan::kBlockSteps));
  }
}

TEST(StepPlan, PutsAProfiledBlockBesideEveryControlBlockOnBothSidesAlike) {
  const StepPlan plan = PlanOf(3, "full", 5);
  int first_of_pair = 0, control_blocks = 0;
  for (uint64_t block = 0; block < 20'000; ++block) {
    if (plan.LevelOf(block * StepPlan::kBlockSteps) != format::kLevelControl) continue;
    ++control_blocks;
    first_of_pair += block % 2 == 0;
    EXPECT_EQ(plan.LevelOf((block ^ 1) * StepPlan::kBlockSteps), format::kLevelEverything);
  }
  EXPECT_NEAR(first_of_pair, control_blocks / 2, control_blocks / 10);
}

TEST(StepPlan, GivesAProgramOfSomeHundredStepsBlocksEnoughToCompare) {
  for (const double percent : {0.5, 5.0, 30.0}) {
    const StepPlan plan = PlanOf(21, "full", percent);
    int control_blocks = 0;
    for (uint64_t step = 0; step < 432; step += StepPlan::kBlockSteps) {
      control_blocks += plan.LevelOf(step) == format::kLevelControl;
    }
    EXPECT_GE(control_blocks, 24) << percent;
  }
}

TEST(StepPlan, IsAFunctionOfTheSeedAlone) {
  const StepPlan one = PlanOf(11, "balanced"), same = PlanOf(11, "balanced");
  const StepPlan other = PlanOf(12, "balanced");
  int differ = 0;
  for (uint64_t step = 0; step < 3000; ++step) {
    EXPECT_EQ(one.LevelOf(step), same.LevelOf(step));
    differ += one.LevelOf(step) != other.LevelOf(step);
  }
  EXPECT_GT(differ, 0);
}

TEST(StepPlan, GivesEachLevelItsShare) {
  for (const char* text : {"balanced", "light", "full", "control=1,operators=0.1,everything=3",
                           "control=30,operators=30,everything=10", "operators=40,control=0",
                           "control=0,boundary=2,operators=96,everything=2"}) {
    format::StepShares shares = {};
    char why[160];
    ASSERT_TRUE(format::ParseStepShares(text, -1, &shares, why, sizeof why)) << why;
    const StepPlan plan = PlanOf(5, text);
    for (int level = 0; level < StepPlan::kLevels; ++level) {
      EXPECT_NEAR(ShareOf(plan, static_cast<format::StepLevel>(level), 900'000),
                  shares.of[level] / 1e6, 0.003)
          << text << " level " << level;
    }
  }
}

TEST(StepPlan, PutsABaseBlockBesideEveryOtherOne) {
  const StepPlan plan = PlanOf(3, "balanced");
  constexpr uint64_t kOpening = StepPlan::kOpeningBlocks * StepPlan::kBlockSteps;
  constexpr uint64_t kEarly = StepPlan::kEarlyGroups * StepPlan::kEarlyGroupBlocks * 3;
  const auto count = [&](uint64_t from, uint64_t blocks, uint64_t steps) {
    int special = 0;
    for (uint64_t block = 0; block < blocks; ++block) {
      const format::StepLevel level = plan.LevelOf(from + block * steps);
      EXPECT_EQ(plan.LevelOf(from + block * steps + steps - 1), level) << block;
      if (level == format::kLevelBoundary) continue;
      ++special;
      EXPECT_EQ(plan.LevelOf(from + (block ^ 1) * steps), format::kLevelBoundary) << block;
    }
    return special;
  };
  EXPECT_EQ(count(kOpening, kEarly / 3, 3), 48);
  EXPECT_NEAR(count(kOpening + kEarly, 20'000, StepPlan::kLaterBlockSteps), 1'800, 40);
}

// What a short program gets: all of its first steps, then blocks of every level.
TEST(StepPlan, GivesShortProgramsEveryLevel) {
  const StepPlan plan = PlanOf(17, "balanced");
  for (uint64_t step = 0; step < StepPlan::kOpeningBlocks * StepPlan::kBlockSteps; ++step) {
    EXPECT_EQ(plan.LevelOf(step), format::kLevelEverything);
  }
  int blocks[StepPlan::kLevels] = {};
  for (uint64_t step = 6; step < 6 + 36; step += StepPlan::kBlockSteps) {
    ++blocks[plan.LevelOf(step)];
  }
  EXPECT_EQ(blocks[format::kLevelControl], 2);
  EXPECT_EQ(blocks[format::kLevelOperators], 1);
  EXPECT_EQ(blocks[format::kLevelEverything], 1);
  for (uint64_t step = 42; step < 438; step += StepPlan::kBlockSteps) ++blocks[plan.LevelOf(step)];
  EXPECT_EQ(blocks[format::kLevelControl], 24);
}

}  // namespace
}  // namespace crosscut::record
