// Intervals, paces and growths beside their formulas (docs/diff.md), of figures that are known.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "src/analyze/intervals.h"
#include "src/compare/verdict.h"

namespace crosscut::compare {
namespace {

using Lengths = std::vector<double>;

// Of a side of an interval: its mean, and how far that reaches below and above.
struct Side {
  double mean = 0, below = 0, above = 0;
};

double MeanOf(const Lengths& lengths) {
  double sum = 0;
  for (const double ns : lengths) sum += ns;
  return sum / static_cast<double>(lengths.size());
}

// Half of an interval of a side with so many runs, of which each is known to spread by `known`,
// with squares of so much seen on both sides together.
double Half(double runs, double freedom, double known, double seen) {
  const double variance = (2 * known * known + seen) / freedom;
  return analyze::StudentFactor(freedom) * std::sqrt(variance / runs);
}

double LogSquares(const Lengths& lengths) {
  double sum = 0;
  for (const double ns : lengths) sum += std::pow(std::log(ns / MeanOf(lengths)), 2);
  return sum;
}

Side LogSide(const Lengths& lengths, double freedom, double below, double above, double seen) {
  const auto runs = static_cast<double>(lengths.size());
  const double mean = MeanOf(lengths);
  return {mean, mean * (1 - std::exp(-Half(runs, freedom, below, seen))),
          mean * (std::exp(Half(runs, freedom, above, seen)) - 1)};
}

void ExpectInterval(const Change& change, const Side& a, const Side& b) {
  EXPECT_DOUBLE_EQ(change.a, a.mean);
  EXPECT_DOUBLE_EQ(change.b, b.mean);
  EXPECT_NEAR(change.low, b.mean - a.mean - std::hypot(b.below, a.above), 1e-6);
  EXPECT_NEAR(change.high, b.mean - a.mean + std::hypot(b.above, a.below), 1e-6);
  EXPECT_NEAR(change.least, -a.mean - a.above, 1e-6);
}

// Of a step without operations nothing tells the pace: it spreads by 4 %.
TEST(Figures, AStepsIntervalIsThatOfBothSidesLogarithms) {
  const std::pair<Lengths, Lengths> kAll[] = {{{1000}, {1200}},
                                              {{990, 1010}, {1200}},
                                              {{900, 1000, 1100}, {500, 600}},
                                              {{1000, 1000}, {1000, 1000, 1000, 1000}}};
  for (const double error : {0.0, 0.03}) {
    for (const auto& [a, b] : kAll) {
      const auto runs = [error](const Lengths& lengths) {
        std::vector<Undisturbed> out;
        for (const double ns : lengths) out.push_back({{}, {ns, 7, error, error / 2, 0}, {}});
        return out;
      };
      const StepChange change = CompareSteps(runs(a), runs(b));
      EXPECT_FALSE(change.pace_known);
      EXPECT_EQ(change.pace, 1);
      EXPECT_EQ(change.runs_a, a.size());
      EXPECT_EQ(change.runs_b, b.size());
      const auto freedom = static_cast<double>(a.size() + b.size());
      const double seen = LogSquares(a) + LogSquares(b), below = std::hypot(0.04, error),
                   above = std::hypot(0.04, error / 2);
      ExpectInterval(change.step, LogSide(a, freedom, below, above, seen),
                     LogSide(b, freedom, below, above, seen));
    }
  }
}

// Where one side takes nothing there is no logarithm.
TEST(Figures, AnIntervalOfNothingIsThatOfItsNanoseconds) {
  const auto runs = [](const Lengths& lengths, double error) {
    std::vector<Undisturbed> out;
    for (const double ns : lengths) {
      Undisturbed run;
      run.step.ns = ns;
      run.step.error = error;
      out.push_back(run);
    }
    return out;
  };
  const StepChange change = CompareSteps(runs({0, 0}, 5), runs({1000, 1400}, 20));
  const double seen = 2 * 200.0 * 200.0, freedom = 4;
  // Of B the spread is that of each figure.
  const double known_b = std::sqrt((std::pow(0.04 * 1000, 2) + std::pow(0.04 * 1400, 2)) / 2 + 400);
  const double half_a = Half(2, freedom, 5, seen), half_b = Half(2, freedom, known_b, seen);
  ExpectInterval(change.step, {0, 0, half_a}, {1200, half_b, half_b});
  // No interval reaches below nothing.
  const StepChange wide = CompareSteps(runs({0}, 0), runs({10}, 500));
  const double half = Half(1, 2, std::hypot(0.4, 500), 0);
  ExpectInterval(wide.step, {0, 0, 0}, {10, 10, half});
}

// Three operations that take as long as each other, by run at these paces.
std::vector<Undisturbed> AtPaces(const Lengths& paces) {
  std::vector<Undisturbed> out;
  for (const double pace : paces) {
    Undisturbed run;
    const double ns = 1000 * std::exp(pace);
    for (const char* name : {"a", "b", "c"}) run.operations[name] = {ns, 0, 0, 0, 0};
    run.step = {3 * ns, 0, 0, 0, 0};
    out.push_back(run);
  }
  return out;
}

// Beside what operations differ by themselves, 1 %, a change holds what the pace may have been.
TEST(Figures, APaceAddsToTheIntervalsOfWhatFollowsIt) {
  const struct {
    Lengths a, b;
    double half;  // of the pace's interval
  } kAll[] = {
      // One run a side: what differs may all be by chance.
      {{0}, {0.1}, analyze::StudentFactor(2) * 0.1},
      {{0, 0.02},
       {0.1, 0.14},
       analyze::StudentFactor(4) *
           std::sqrt((2 * 0.0001 + 2 * 0.01 * 0.01 + 2 * 0.02 * 0.02) / 4 * (1 / 2.0 + 1 / 2.0))}};
  for (const auto& [a, b, half_pace] : kAll) {
    const StepChange change = CompareSteps(AtPaces(a), AtPaces(b));
    ASSERT_TRUE(change.pace_known);
    EXPECT_NEAR(change.pace, std::exp(MeanOf(b) - MeanOf(a)), 1e-12);
    ASSERT_EQ(change.operations.size(), 3u);
    // At A's pace all are as long as each other.
    const auto runs = static_cast<double>(a.size());
    const double half = Half(runs, 2 * runs, 0.01, 0), own = 1000 * std::exp(MeanOf(a));
    const double reach = std::hypot(own * (1 - std::exp(-half)), own * (std::exp(half) - 1));
    for (const OperationChange& o : change.operations) {
      EXPECT_NEAR(o.own.a, own, 1e-6);
      EXPECT_NEAR(o.own.ns(), 0, 1e-6);
      EXPECT_NEAR(o.own.high, reach, 1e-6);
      EXPECT_NEAR(o.own.low, -reach, 1e-6);
      EXPECT_NEAR(o.change.high, o.change.ns() + std::hypot(reach, half_pace * o.change.a), 1e-6);
      EXPECT_NEAR(o.change.low, o.change.ns() - std::hypot(reach, half_pace * o.change.a), 1e-6);
      EXPECT_FALSE(o.stands_out);
    }
    const double of_step = std::hypot(std::sqrt(3) * reach, half_pace * change.step.a);
    EXPECT_NEAR(change.step.high, change.step.ns() + of_step, 1e-6);
    EXPECT_NEAR(change.step.low, change.step.ns() - of_step, 1e-6);
  }
}

// Three tell it if each works for more than a fiftieth of the step in each run, and two agree.
TEST(Figures, ThePaceIsThatOfTheOperationInTheMiddle) {
  const auto runs = [](const Lengths& works, double waits) {
    Undisturbed run;
    for (size_t i = 0; i < works.size(); ++i) {
      run.operations[std::to_string(i)] = {works[i] + waits, 0, 0, 0, waits};
    }
    run.step = {10'000, 0, 0, 0, 0};
    return std::vector<Undisturbed>{run, run};
  };
  EXPECT_NEAR(CompareSteps(runs({300, 400, 500}, 50), runs({330, 440, 1000}, 90)).pace, 1.1, 1e-9);
  const StepChange apart = CompareSteps(runs({300, 400, 500}, 50), runs({330, 600, 1000}, 90));
  EXPECT_EQ(apart.pace, 1);
  EXPECT_TRUE(apart.paces_differ && !apart.pace_known);
  EXPECT_FALSE(CompareSteps(runs({300, 400}, 50), runs({330, 400}, 90)).pace_known);
  EXPECT_TRUE(CompareSteps(runs({201, 400, 500}, 0), runs({201, 400, 500}, 0)).pace_known);
  for (const double few : {200.0, 199.0}) {
    EXPECT_FALSE(CompareSteps(runs({few, 400, 500}, 50), runs({900, 400, 500}, 0)).pace_known);
    EXPECT_FALSE(CompareSteps(runs({900, 400, 500}, 0), runs({few, 400, 500}, 50)).pace_known);
  }
}

TEST(Figures, WhatIsCertainlySlowerIsSoBeyondHalfAsWideAnInterval) {
  OperationChange o;
  o.own = {100, 150, 40, 60, -100};
  EXPECT_DOUBLE_EQ(o.least_growth(), (50 - 1.5 * 10) / 100);
  StepChange change;
  change.step.a = 1000;
  const auto add = [&](double a, double b, double low, bool stands_out) {
    OperationChange one;
    one.change.a = one.own.a = a;
    one.change.b = one.own.b = b;
    one.own.low = low;
    one.stands_out = stands_out;
    change.operations.push_back(one);
  };
  add(50, 20, -40, true);
  EXPECT_EQ(GrowthOfNew(change), -1) << "nothing is new";
  add(0, 100, 60, true);
  add(0, 70, 10, false);  // does not stand out
  add(50, 90, 20, true);  // is not new, and takes more
  EXPECT_DOUBLE_EQ(GrowthOfNew(change), (70 - 1.5 * std::hypot(10, 40)) / 1000);
}

// By how Student's factor and the runs make an interval narrower: of one run a side it is as wide
// as given.
TEST(Figures, SoManyRunsTellADifference) {
  const auto width = [](double runs) {
    return analyze::StudentFactor(2 * runs) * std::sqrt(2 / runs);
  };
  StepChange change;
  change.runs_a = change.runs_b = 1;
  change.step = {1000, 1000, -100, 100, -1000};
  for (const size_t runs : {2, 3, 7, 49, 50}) {
    const double exactly = 0.1 / width(1) * width(static_cast<double>(runs));
    EXPECT_EQ(RunsToTell(change, exactly * 1.0001), runs);
    EXPECT_EQ(RunsToTell(change, exactly * 0.9999), runs == 50 ? 0 : runs + 1);
  }
  EXPECT_EQ(RunsToTell(change, 1), 2u) << "at least";
  // Of other numbers of runs, and an interval that is not even.
  change.runs_a = 2, change.runs_b = 3;
  change.step = {1000, 1000, -50, 150, -1000};
  const double factor = analyze::StudentFactor(5) * std::sqrt(1 / 2.0 + 1 / 3.0);
  EXPECT_EQ(RunsToTell(change, 0.1 / factor * width(4) * 1.0001), 4u);
  EXPECT_EQ(RunsToTell(change, 0.1 / factor * width(4) * 0.9999), 5u);
}

}  // namespace
}  // namespace crosscut::compare
