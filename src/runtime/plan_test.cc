#include "src/runtime/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

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

// By level.
std::array<double, StepPlan::kLevels> SharesOf(const StepPlan& plan, uint64_t steps) {
  std::array<double, StepPlan::kLevels> shares = {};
  for (uint64_t step = 0; step < steps; ++step) ++shares.at(plan.LevelOf(step));
  for (double& share : shares) share /= static_cast<double>(steps);
  return shares;
}

TEST(StepPlan, GivesControlItsShareOfTheSteps) {
  for (const double percent : {1.0, 5.0, 10.0, 25.0, 50.0, 80.0, 100.0}) {
    const StepPlan plan = PlanOf(7, "full", percent);
    EXPECT_NEAR(SharesOf(plan, 300'000)[format::kLevelControl], percent / 100, 0.01) << percent;
  }
}

TEST(StepPlan, WithoutAShare_RecordsEverything) {
  const StepPlan plan = PlanOf(7, "full", 0);
  EXPECT_EQ(SharesOf(plan, 10'000)[format::kLevelEverything], 1.0);
}

// Another block of the same length, that of the same pair.
uint64_t Neighbour(const StepPlan::Place& place) {
  return place.in_group % 2 == 0 ? place.block_begin + place.block_steps
                                 : place.block_begin - place.block_steps;
}

TEST(StepPlan, KeepsOneLevelForAWholeBlockAndBlocksGrow) {
  for (const char* text : {"balanced", "full", "control=45,boundary=30,everything=25"}) {
    const StepPlan plan = PlanOf(99, text);
    uint64_t begin = StepPlan::kOpeningSteps, length = StepPlan::kEarlyBlockSteps;
    while (begin < 50'000) {
      const StepPlan::Place place = plan.PlaceOf(begin);
      EXPECT_EQ(place.block_begin, begin);
      EXPECT_GE(place.block_steps, length);
      // No level is kept for more than a twentieth of the steps that have been, after the first.
      EXPECT_LE(place.block_steps, std::max(begin / 20, uint64_t{3}));
      for (uint64_t step = begin; step < begin + place.block_steps; ++step) {
        EXPECT_EQ(plan.LevelOf(step), plan.LevelOf(begin));
        EXPECT_EQ(plan.PlaceOf(step).block_begin, begin);
      }
      begin += length = place.block_steps;
    }
    EXPECT_EQ(length, 24);
  }
}

TEST(StepPlan, PutsAProfiledBlockBesideEveryControlBlockOnBothSidesAlike) {
  const StepPlan plan = PlanOf(3, "full", 5);
  int first_of_pair = 0, control_blocks = 0;
  for (uint64_t begin = StepPlan::kOpeningSteps; begin < 1'500'000;) {
    const StepPlan::Place place = plan.PlaceOf(begin);
    if (plan.LevelOf(begin) == format::kLevelControl) {
      ++control_blocks;
      first_of_pair += place.in_group % 2 == 0;
      EXPECT_EQ(plan.LevelOf(Neighbour(place)), format::kLevelEverything);
    }
    begin += place.block_steps;
  }
  EXPECT_NEAR(first_of_pair, control_blocks / 2, control_blocks / 10);
}

TEST(StepPlan, GivesAProgramOfSomeHundredStepsBlocksEnoughToCompare) {
  for (const double percent : {0.5, 5.0, 30.0}) {
    const StepPlan plan = PlanOf(21, "full", percent);
    int control_blocks = 0;
    for (uint64_t step = 0; step < 438; step += StepPlan::kEarlyBlockSteps) {
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
    const auto is = SharesOf(PlanOf(5, text), 900'000);
    for (int level = 0; level < StepPlan::kLevels; ++level) {
      // The last two draw each of 37,500 blocks: a standard deviation is 0.0024.
      EXPECT_NEAR(is[level], shares.of[level] / 1e6,
                  shares.of[1] < 400'000 && level < 3 ? 0.01 : 0.003)
          << text << " level " << level;
    }
  }
}

TEST(StepPlan, PutsABaseBlockBesideEveryOtherOne) {
  const StepPlan plan = PlanOf(3, "balanced");
  int early = 0, later = 0, later_blocks = 0;
  for (uint64_t begin = StepPlan::kOpeningSteps; begin < 2'000'000;) {
    const StepPlan::Place place = plan.PlaceOf(begin);
    const bool base = plan.LevelOf(begin) == format::kLevelBoundary;
    if (!base) {
      EXPECT_EQ(plan.LevelOf(Neighbour(place)), format::kLevelBoundary) << begin;
    }
    (place.group < StepPlan::kEarlyGroups ? early : later) += !base;
    later_blocks += place.group >= StepPlan::kEarlyGroups;
    begin += place.block_steps;
  }
  EXPECT_EQ(early, 48);
  EXPECT_NEAR(later, later_blocks * 0.09, 40);
}

// A program of three steps was empty in one run of six.
TEST(StepPlan, NeverOpensWithControlStepsUnlessThereIsNothingElse) {
  const std::pair<const char*, double> plans[] = {
      {"balanced", -1}, {"light", -1}, {"control=45,boundary=30,everything=25", -1},
      {"full", 5},      {"full", 40},  {"full", 90},
      {"full", 100}};
  for (const auto& [text, percent] : plans) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
      const StepPlan plan = PlanOf(seed, text, percent);
      for (uint64_t step = 0; step < StepPlan::kOpeningSteps; ++step) {
        EXPECT_EQ(plan.LevelOf(step) == format::kLevelControl, percent == 100) << text << percent;
      }
    }
  }
}

// What a short program gets: all of its first steps, then blocks of every level.
TEST(StepPlan, GivesShortProgramsEveryLevel) {
  const StepPlan plan = PlanOf(17, "balanced");
  for (uint64_t step = 0; step < StepPlan::kOpeningSteps; ++step) {
    EXPECT_EQ(plan.LevelOf(step), format::kLevelEverything);
  }
  int blocks[StepPlan::kLevels] = {};
  for (uint64_t step = 6; step < 6 + 36; step += StepPlan::kEarlyBlockSteps) {
    ++blocks[plan.LevelOf(step)];
  }
  EXPECT_EQ(blocks[format::kLevelControl], 2);
  EXPECT_EQ(blocks[format::kLevelOperators], 1);
  EXPECT_EQ(blocks[format::kLevelEverything], 1);
  for (uint64_t step = 42; step < 438; step += StepPlan::kEarlyBlockSteps)
    ++blocks[plan.LevelOf(step)];
  EXPECT_EQ(blocks[format::kLevelControl], 24);
}

// Whatever is built, processes of one job agree: these are of another computation, in Python, by
// the words of plan.h.
TEST(StepPlan, IsTheSameInEveryBuild) {
  const struct {
    uint64_t seed;
    const char *plan, *first;
    uint64_t hash;  // FNV-1a of the first 20,000
  } kAll[] = {{7, "control=5,operators=10,everything=2",
               "333333111333111111000111111111111000111222333111111111111000", 0xa18d22befff30891},
              {UINT64_MAX, "control=5,operators=10,everything=2",
               "333333111333111111111000111222111111111000111111111000333111", 0x29ca3cab661c2ee3},
              {7, "control=45,boundary=30,everything=25",
               "333333111000111333111000111111111111111000111111333000333333", 0xf7c7402b3bf2a470},
              {1, "control=5,everything=95",
               "333333333333333333333000333333000333333333333333333333333000", 0x671358f45b919c6d}};
  for (const auto& [seed, plan, first, hash] : kAll) {
    const StepPlan levels = PlanOf(seed, plan);
    std::string text;
    for (uint64_t step = 0; step < 20'000; ++step) {
      text += static_cast<char>('0' + levels.LevelOf(step));
    }
    EXPECT_EQ(text.substr(0, 60), first) << plan;
    uint64_t is = 0xcbf29ce484222325;
    for (const char level : text) is = (is ^ static_cast<unsigned char>(level)) * 0x100000001b3;
    EXPECT_EQ(is, hash) << plan;
  }
}

}  // namespace
}  // namespace crosscut::record
