// The decision, on simulated runs of a machine that others use.
#include "src/compare/verdict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>

#include "src/analyze/accounting/overhead.h"
#include "src/compare/answer.h"

namespace crosscut::compare {
namespace {

using analyze::kLayoutSpread;

constexpr const char* kOperations[] = {"data", "model", "update"};
constexpr double kUsual[] = {1e6, 3e6, 1e6};  // ns

// What one run is like.
struct Program {
  double factor[3] = {1, 1, 1};  // planted
  double pace = 1;               // of this run
  size_t steps = 300;
  double busy = 0.6;  // probability that a stretch of work is preempted
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : random_(seed) {}

  // Autocorrelated noise of 1 %, a drift of 1 %, each operation's own 0.5 % in this run, and work
  // that takes up to five times as long while others have the processor.
  Undisturbed Run(const Program& program) {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    RunSteps run;
    double own[3], noise = 0;
    for (uint32_t k = 0; k < 3; ++k) {
      run.keys.push_back({kOperations[k], analyze::Bit(trace::Layer::kPython)});
      own[k] = std::exp(0.005 * normal(random_));
    }
    for (uint32_t s = 0; s < program.steps; ++s) {
      run.steps.push_back({s});
      noise = 0.8 * noise + 0.6 * normal(random_);
      const double drift = 0.01 * s / static_cast<double>(program.steps);
      for (uint32_t k = 0; k < 3; ++k) {
        double ns = kUsual[k] * own[k] * program.factor[k] * program.pace;
        ns *= std::exp(0.01 * noise + drift);
        if (uniform(random_) < program.busy) ns *= 1 + 4 * uniform(random_);
        run.parts.push_back({s, k, std::llround(ns), ns});
        run.steps.back().ns += std::llround(ns);
      }
    }
    return MeasureUndisturbed(run);
  }

  // One in seven runs has a pace of its own, 6 to 40 % slower.
  double Pace() {
    std::uniform_real_distribution<double> uniform;
    return uniform(random_) < 1.0 / 7 ? 1.06 + 0.34 * uniform(random_) : 1;
  }

  std::vector<Undisturbed> Runs(Program program, size_t count) {
    std::vector<Undisturbed> out;
    for (size_t i = 0; i < count; ++i) {
      program.pace = Pace();
      out.push_back(Run(program));
    }
    return out;
  }

 private:
  std::mt19937_64 random_;
};

const OperationChange& Find(const StepChange& change, std::string_view operation) {
  for (const OperationChange& o : change.operations) {
    if (o.operation == operation) return o;
  }
  ADD_FAILURE() << "no operation " << operation;
  return change.operations.front();
}

struct Counts {
  int told = 0, above_5 = 0, data = 0, others = 0;
  int fails = 0;  // of --fail-above=5%, by an operation
};

Counts Compare(const Program& a, const Program& b, size_t runs, int pairs) {
  Simulation simulation(7);
  Counts out;
  for (int i = 0; i < pairs; ++i) {
    const StepChange change = CompareSteps(simulation.Runs(a, runs), simulation.Runs(b, runs));
    out.told += change.step.told();
    out.above_5 += change.step.low > 0.05 * change.step.a;
    out.data += Find(change, "data").stands_out && Find(change, "data").own.ns() > 0;
    out.others += Find(change, "model").stands_out || Find(change, "update").stands_out;
    double slower = 0;
    for (const OperationChange& o : change.operations) {
      if (o.stands_out) slower = std::max(slower, o.least_growth());
    }
    out.fails += slower > 0.05;
  }
  return out;
}

TEST(Verdict, OfOneProgramTellsNoDifference) {
  for (const size_t runs : {1, 2, 5}) {
    const Counts counts = Compare({}, {}, runs, 200);
    EXPECT_LE(counts.told, 10) << runs << " runs a side";
    EXPECT_LE(counts.above_5, 2) << runs << " runs a side";
    EXPECT_LE(counts.data + counts.others, 4) << runs << " runs a side";
    EXPECT_EQ(counts.fails, 0) << runs << " runs a side";
  }
}

TEST(Verdict, FailsWhereOneOperationIsMuchSlower) {
  for (int operation = 0; operation < 3; ++operation) {
    Program slower;
    slower.factor[operation] = 1.3;
    EXPECT_GE(Compare({}, slower, 1, 200).fails, 196) << kOperations[operation];
  }
}

// Runs of a random program of which one operation changed, without their steps.
class Pairs {
 public:
  // Each run has a pace, and each operation one beside it that spreads by `apart`.
  Pairs(uint64_t seed, double apart) : random_(seed), apart_(apart) {}

  struct Pair {
    std::vector<Undisturbed> a, b;
    double truth;  // of operation "0": what a clock beside the work that only one side has shows
  };
  Pair Draw(double factor) {
    std::vector<double> usual(4 + random_() % 7);  // of three, two agree by chance
    for (double& ns : usual) ns = 1e6 * std::exp(0.7 * Normal());
    Pair out;
    const double a = Run(usual, 1, &out.a), b = Run(usual, factor, &out.b);
    // Where operations have one pace, at that of A.
    out.truth = (factor > 1 && apart_ > 0 ? b : a) * usual[0] * (factor - 1);
    return out;
  }

 private:
  double Normal() { return std::normal_distribution<double>()(random_); }

  // The pace of the first operation.
  double Run(const std::vector<double>& usual, double factor, std::vector<Undisturbed>* out) {
    std::uniform_real_distribution<double> uniform;
    const double pace = uniform(random_) < 1.0 / 7 ? 1.06 + 0.34 * uniform(random_) : 1;
    double first = 0;
    Undisturbed run;
    for (size_t o = 0; o < usual.size(); ++o) {
      const double own = pace * std::exp(apart_ / std::sqrt(2) * Normal());
      const double error = 0.02 * uniform(random_), ns = usual[o] * own * (o == 0 ? factor : 1);
      const double seen = ns * std::exp(kLayoutSpread / 2 * Normal() + error * Normal());
      run.operations[std::to_string(o)] = {seen, seen * error, error, error, 0};
      run.step.ns += seen;
      if (o == 0) first = own;
    }
    run.step.error = run.step.ns / 100;
    run.step.log_error = run.step.log_error_above = 0.01;
    out->push_back(run);
    return first;
  }

  std::mt19937_64 random_;
  double apart_;
};

// Also where a machine disturbs each operation by as much as 30 %: their middle is no pace then.
TEST(Verdict, HoldsWhatOneOperationChangedHoweverFarOthersAreApart) {
  for (const double apart : {0.0, 0.1, 0.3}) {
    int holds = 0, silent = 0;
    for (const double factor : {1.0, 0.2, 1.3, 4.0, 40.0}) {
      Pairs pairs(29, apart);
      for (int i = 0; i < 400; ++i) {
        const auto [a, b, truth] = pairs.Draw(factor);
        const StepChange change = CompareSteps(a, b);
        const Change& own = Find(change, "0").own;
        holds += own.low <= truth && truth <= own.high;
        silent += factor == 1 && std::none_of(change.operations.begin(), change.operations.end(),
                                              [](const auto& o) { return o.stands_out; });
      }
    }
    EXPECT_GE(holds, 1900) << apart;
    EXPECT_GE(silent, 380) << apart;
  }
}

// However far apart operations are, what is told of them fits a number.
TEST(Verdict, ReachesAMillionTimesWhereOperationsHaveNothingInCommon) {
  Undisturbed a, b;
  const auto add = [](double ns, int o, Undisturbed* run) {
    run->operations[std::to_string(o)] = {ns, ns / 100, 0.01, 0.01, 0};
    run->step.ns += ns / 100;  // each tells
  };
  for (int o = 0; o < 6; ++o) add(1e6, o, &a), add(1e6 * std::pow(30, o), o, &b);
  b.step.ns = 1e6;
  for (const OperationChange& o : CompareSteps({a}, {b}).operations) {
    EXPECT_LT(o.own.high, 3e6 * o.own.b) << o.operation;
  }
}

TEST(Verdict, HoldsNoImpossibleRatioAndSaysHowManyRunsTell) {
  Simulation simulation(17);
  for (int i = 0; i < 100; ++i) {
    Program slow;
    slow.pace = 1 + 0.2 * i;
    const StepChange change = CompareSteps({simulation.Run({})}, {simulation.Run(slow)});
    EXPECT_GE(change.step.low, change.step.least);
    for (const OperationChange& o : change.operations) {
      EXPECT_GE(o.change.low, o.change.least);
      EXPECT_GE(o.own.low, o.own.least);
    }
    const size_t fine = RunsToTell(change, 0.05), rough = RunsToTell(change, 0.5);
    EXPECT_TRUE(fine == 0 || (rough != 0 && rough <= fine));
  }
}

// Operations in which no thread of the host worked tell no pace.
TEST(Verdict, IsFiniteWhereOperationsOnlyWait) {
  const auto runs = [](double factor) {
    Undisturbed run;
    for (const auto& [name, works] : {std::pair("work 1", 1),
                                      {"work 2", 1},
                                      {"work 3", 1},
                                      {"wait 1", 0},
                                      {"wait 2", 0},
                                      {"wait 3", 0}}) {
      const double ns = name == std::string("work 1") ? factor * 1e6 : 1e6;
      run.operations[name] = {ns, 1e3, 1e-3, 1e-3, works == 1 ? 0 : ns};
      run.step.ns += ns;
      run.step.waits_ns += works == 1 ? 0 : ns;
    }
    run.step.error = 1e3;
    run.step.log_error = run.step.log_error_above = 1e-3;
    return std::vector<Undisturbed>(2, run);
  };
  const StepChange change = CompareSteps(runs(1), runs(2));
  EXPECT_TRUE(std::isfinite(change.pace));
  for (const OperationChange& o : change.operations) {
    EXPECT_TRUE(std::isfinite(o.own.ns()) && std::isfinite(o.own.low)) << o.operation;
  }
  EXPECT_TRUE(Find(change, "work 1").stands_out);
  EXPECT_FALSE(Find(change, "wait 1").stands_out);
}

// A fiftieth of the shorter step is enough, also where the other side's is many times as long.
TEST(Verdict, HoldsAChangeAgainstTheShorterStep) {
  const auto runs = [](double data, double model) {
    Undisturbed run;
    const auto add = [&run](const char* name, double ns) {
      run.operations[name] = {ns, 1e3, 1e-3, 1e-3, 0};
      run.step.ns += ns;
    };
    for (const char* name : {"a", "b", "c", "d", "e"}) add(name, 5e5);  // they tell the pace
    add("data", data);
    add("model", model);
    run.step.error = 1e3;
    run.step.log_error = run.step.log_error_above = 1e-3;
    return std::vector<Undisturbed>(2, run);
  };
  const auto small = runs(1e6, 1.5e6);  // a step of 5 ms, of which a fiftieth is 0.1 ms
  EXPECT_TRUE(Find(CompareSteps(small, runs(1.15e6, 9e6)), "data").stands_out);
  EXPECT_TRUE(Find(CompareSteps(runs(1.15e6, 9e6), small), "data").stands_out);
  EXPECT_FALSE(Find(CompareSteps(small, runs(1.06e6, 9e6)), "data").stands_out);
}

TEST(Verdict, FindsTheOperationThatBecameSlower) {
  Program slower;
  slower.factor[0] = 1.25;  // of a fifth of the step: 5 % of it
  const Counts one = Compare({}, slower, 1, 200);
  EXPECT_GE(one.data, 196);
  EXPECT_LE(one.others, 2);
  const Counts five = Compare({}, slower, 5, 100);
  EXPECT_GE(five.data, 98);
  EXPECT_LE(five.others, 1);
}

// Others leave the processor alone in the first eighth of the run only, and an operation that is
// longer than a slice of the scheduler never ends in its own.
TEST(Verdict, FindsWhatBecameManyTimesSlowerOnAMachineThatIsBusyInMostOfARun) {
  const auto run = [](double data, double disturbed, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    RunSteps run;
    for (const char* operation : kOperations) {
      run.keys.push_back({operation, analyze::Bit(trace::Layer::kPython)});
    }
    for (uint32_t s = 0; s < 160; ++s) {
      run.steps.push_back({s});
      for (uint32_t k = 0; k < 3; ++k) {
        double ns = kUsual[k] * std::exp(0.01 * normal(random));
        if (k == 0) ns *= data * (s < 20 ? 1 : disturbed);
        run.parts.push_back({s, k, std::llround(ns), ns});
      }
    }
    return MeasureUndisturbed(run);
  };
  std::mt19937_64 random(13);
  std::uniform_real_distribution<double> uniform;
  for (uint64_t pair = 0; pair < 200; ++pair) {
    const double disturbed = 1.2 + 0.5 * uniform(random);
    const StepChange slower = CompareSteps({run(1, 1, pair)}, {run(8, disturbed, pair + 1000)});
    EXPECT_TRUE(Find(slower, "data").stands_out) << disturbed << " times as long";
    EXPECT_GT(Find(slower, "data").own.low, 0);
    EXPECT_FALSE(Find(slower, "model").stands_out);
    const StepChange same = CompareSteps({run(1, 1, pair)}, {run(1, disturbed, pair + 2000)});
    EXPECT_FALSE(Find(same, "data").stands_out) << disturbed << " times as long";
    EXPECT_FALSE(same.step.told());
  }
}

TEST(Verdict, TellsThatAllBecameSlowerAlikeFromSeveralRunsOnly) {
  Program slower;
  for (double& factor : slower.factor) factor = 1.3;
  Simulation simulation(3);
  int one = 0, several = 0;
  for (int i = 0; i < 50; ++i) {
    const std::vector<Undisturbed> a = {simulation.Run({})}, b = {simulation.Run(slower)};
    one += CompareSteps(a, b).step.told();
    std::vector<Undisturbed> more_a = a, more_b = b;
    for (int r = 0; r < 4; ++r) {
      more_a.push_back(simulation.Run({}));
      more_b.push_back(simulation.Run(slower));
    }
    several += CompareSteps(more_a, more_b).step.told();
  }
  EXPECT_EQ(one, 0);
  EXPECT_EQ(several, 50);
}

TEST(Verdict, TakesNoPaceOffWaiting) {
  const auto run = [](double pace) {
    RunSteps run;
    for (const char* operation : kOperations) {
      run.keys.push_back({operation, analyze::Bit(trace::Layer::kPython)});
    }
    run.keys.push_back({"data", analyze::kIdleBit});
    for (uint32_t s = 0; s < 100; ++s) {
      run.steps.push_back({s});
      for (uint32_t k = 0; k < 3; ++k) run.parts.push_back({s, k, 0, pace * kUsual[k]});
      run.parts.push_back({s, 3, 0, 2e6});
    }
    return MeasureUndisturbed(run);
  };
  const StepChange change = CompareSteps({run(1)}, {run(1.3)});
  EXPECT_NEAR(change.pace, 1.3, 1e-9);
  EXPECT_NEAR(Find(change, "data").own.ns(), 0, 1);
  EXPECT_FALSE(Find(change, "data").stands_out);
}

TEST(Verdict, WhatASideLacksCountsByItsPartOfAStep) {
  Simulation simulation(11);
  Program without;
  without.factor[0] = 0;
  const auto runs = [&](const Program& program) {
    std::vector<Undisturbed> out = simulation.Runs(program, 2);
    if (program.factor[0] != 0) return out;
    for (Undisturbed& run : out) run.operations.erase(kOperations[0]);
    return out;
  };
  const StepChange more = CompareSteps(runs(without), runs({}));
  const OperationChange& added = Find(more, kOperations[0]);
  EXPECT_TRUE(added.is_new() && !added.is_gone() && added.stands_out);
  EXPECT_GT(GrowthOfNew(more), 0);
  EXPECT_LE(GrowthOfNew(more), added.own.low / more.step.a);
  const StepChange less = CompareSteps(runs({}), runs(without));
  const OperationChange& gone = Find(less, kOperations[0]);
  EXPECT_TRUE(gone.is_gone() && !gone.is_new());
  EXPECT_LT(gone.least_growth(), 0);
  EXPECT_LT(GrowthOfNew(less), 0);
}

TEST(Verdict, OfSeveralStepsOneHasToBeSlowerBeyondAWiderInterval) {
  RoleSteps one;
  one.takes_long = true;
  one.runs.a.resize(1);
  one.runs.b.resize(1);
  one.change.step = {100, 120, 10, 30};
  EXPECT_NEAR(AnswerOf({one}).slower, 0.1, 1e-9);
  RoleSteps other = one;
  other.change.step = {100, 100, -1, 1};
  EXPECT_NEAR(AnswerOf({one, other}).slower, 0.05, 1e-9);
}

// An operation that is called otherwise, or two where there was one, take no longer.
TEST(Verdict, WhatIsNewCountsBeyondWhatOthersTakeLess) {
  using Lengths = std::map<std::string, double>;
  const auto growth = [](const Lengths& a, const Lengths& b) {
    const auto side = [](const Lengths& lengths) {
      Undisturbed run;
      for (const auto& [operation, ns] : lengths) {
        run.operations[operation] = {ns, ns / 1000, 0.001, 0.001, 0};
        run.step.ns += ns;
      }
      run.step.error = run.step.ns / 1000;
      run.step.log_error = run.step.log_error_above = 0.001;
      return std::vector<Undisturbed>{run, run};
    };
    return GrowthOfNew(CompareSteps(side(a), side(b)));
  };
  const Lengths before = {{"load", 1000}, {"model", 2000}, {"update", 1000}, {"log", 1000}};
  const auto with = [&](double load, double read, double augment) {
    Lengths after = before;
    after.erase("load");
    for (const auto& [name, ns] : {std::pair("load", load), {"read", read}, {"augment", augment}}) {
      if (ns > 0) after[name] = ns;
    }
    return after;
  };
  EXPECT_LT(growth(before, with(0, 1000, 0)), 0.01) << "renamed";
  EXPECT_LT(growth(before, with(600, 0, 400)), 0.01) << "a part has its own name";
  EXPECT_NEAR(growth(before, with(0, 1500, 0)), 0.08, 0.02) << "renamed and slower";
  EXPECT_NEAR(growth(before, with(1000, 0, 500)), 0.09, 0.02) << "new";
  EXPECT_NEAR(growth(before, with(600, 0, 900)), 0.07, 0.03) << "a part, and slower";
}

// B has none of it, but what A takes of it is not known exactly.
TEST(Verdict, HoldsWhatAnOperationTookThatIsGone) {
  std::mt19937_64 random(23);
  std::normal_distribution<double> normal;
  const auto runs = [&](bool data) {
    std::vector<Undisturbed> out(2);
    for (Undisturbed& run : out) {
      const auto add = [&](const char* name, double ns) {
        ns *= std::exp(kLayoutSpread * normal(random));
        run.operations[name] = {ns, 1e3, 1e-3, 1e-3, 0};
        run.step.ns += ns;
      };
      for (const char* name : {"a", "b", "c"}) add(name, 1e6);
      if (data) add("data", 4e6);
      run.step.error = 1e3;
      run.step.log_error = run.step.log_error_above = 1e-3;
    }
    return out;
  };
  int own = 0, change = 0, step = 0;
  for (int i = 0; i < 200; ++i) {
    const StepChange found = CompareSteps(runs(true), runs(false));
    const auto holds = [](const Change& c) { return c.low <= -4e6 && -4e6 <= c.high; };
    own += holds(Find(found, "data").own);
    change += holds(Find(found, "data").change);
    step += holds(found.step);
  }
  EXPECT_GE(own, 185);
  EXPECT_GE(change, 185);
  EXPECT_GE(step, 185);
}

TEST(Verdict, IsTheOppositeTheOtherWayRound) {
  Simulation simulation(5);
  Program slower;
  slower.factor[1] = 1.1;
  const std::vector<Undisturbed> a = simulation.Runs({}, 2), b = simulation.Runs(slower, 3);
  const StepChange forth = CompareSteps(a, b), back = CompareSteps(b, a);
  EXPECT_DOUBLE_EQ(forth.step.ns(), -back.step.ns());
  const StepChange none = CompareSteps(a, a);
  EXPECT_EQ(none.step.ns(), 0);
  EXPECT_FALSE(none.step.told());
}

TEST(Undisturbed, HardlyDependsOnHowBusyTheMachineIs) {
  Simulation simulation(11);
  Program quiet, busy;
  quiet.busy = 0;
  busy.busy = 0.8;
  EXPECT_NEAR(simulation.Run(busy).step.ns / simulation.Run(quiet).step.ns, 1, 0.03);
}

TEST(Undisturbed, CountsARareOperationByHowOftenItOccurs) {
  RunSteps run;
  run.keys = {{"evaluate", 0}, {"train", 0}};
  for (uint32_t s = 0; s < 100; ++s) {
    run.steps.push_back({s});
    if (s % 10 == 0) run.parts.push_back({s, 0, 500, 500});
    run.parts.push_back({s, 1, 100, 100});
  }
  const Undisturbed u = MeasureUndisturbed(run);
  EXPECT_DOUBLE_EQ(u.operations.at("evaluate").ns, 50);
  EXPECT_DOUBLE_EQ(u.step.ns, 150);
  EXPECT_DOUBLE_EQ(u.by_key[0] + u.by_key[1], u.step.ns);
}

}  // namespace
}  // namespace crosscut::compare
