#include "src/runtime/plan.h"

#include <gtest/gtest.h>

namespace crosscut::record {
namespace {

double ShareOf(const StepPlan& plan, format::StepLevel level, uint64_t steps) {
  uint64_t count = 0;
  for (uint64_t step = 0; step < steps; ++step) count += plan.LevelOf(step) == level;
  return static_cast<double>(count) / static_cast<double>(steps);
}

TEST(StepPlan, GivesControlItsShareOfTheSteps) {
  for (const double percent : {1.0, 5.0, 10.0, 25.0, 50.0, 80.0, 100.0}) {
    StepPlan plan;
    plan.SetControl(7, percent);
    EXPECT_NEAR(ShareOf(plan, format::kLevelControl, 300'000), percent / 100, 0.01) << percent;
  }
}

TEST(StepPlan, WithoutAShare_RecordsEverything) {
  StepPlan plan;
  plan.SetControl(7, 0);
  EXPECT_EQ(ShareOf(plan, format::kLevelEverything, 10'000), 1.0);
}

TEST(StepPlan, KeepsOneLevelForAWholeBlock) {
  StepPlan plan;
  plan.SetControl(99, 20);
  for (uint64_t step = 0; step < 10'000; ++step) {
    EXPECT_EQ(plan.LevelOf(step),
              plan.LevelOf(step / StepPlan::kBlockSteps * StepPlan::kBlockSteps));
  }
}

TEST(StepPlan, PutsAProfiledBlockBesideEveryControlBlockOnBothSidesAlike) {
  StepPlan plan;
  plan.SetControl(3, 5);
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
    StepPlan plan;
    plan.SetControl(21, percent);
    int control_blocks = 0;
    for (uint64_t step = 0; step < 432; step += StepPlan::kBlockSteps) {
      control_blocks += plan.LevelOf(step) == format::kLevelControl;
    }
    EXPECT_GE(control_blocks, 24) << percent;
  }
}

TEST(StepPlan, IsAFunctionOfTheSeedAlone) {
  StepPlan one, same, other;
  one.SetControl(11, 10);
  same.SetControl(11, 10);
  other.SetControl(12, 10);
  int differ = 0;
  for (uint64_t step = 0; step < 3000; ++step) {
    EXPECT_EQ(one.LevelOf(step), same.LevelOf(step));
    differ += one.LevelOf(step) != other.LevelOf(step);
  }
  EXPECT_GT(differ, 0);
}

TEST(StepPlan, GivesFurtherLevelsTheirShares) {
  StepPlan plan;
  plan.Set(5, {50'000, 100'000, 150'000, 0});
  EXPECT_NEAR(ShareOf(plan, format::kLevelControl, 900'000), 0.05, 0.02);
  EXPECT_NEAR(ShareOf(plan, format::kLevelBoundary, 900'000), 0.10, 0.02);
  EXPECT_NEAR(ShareOf(plan, format::kLevelOperators, 900'000), 0.15, 0.03);
}

}  // namespace
}  // namespace crosscut::record
