#include "src/analyze/accounting/overhead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "src/analyze/accounting/accounting.h"
#include "src/analyze/tables.h"
#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using ::testing::ElementsAre;
using ::testing::MatchesRegex;
using testing::RandomTrace;
using testing::TestTrace;
using trace::Kind;
using trace::Layer;

// A run of steps whose truth is known: profiled ones are `inflation` times as long.
struct Model {
  const char* name;
  double inflation;
  double noise = 0.05;     // standard deviation of the logarithm
  double correlation = 0;  // of successive steps' noise
  double tail = 0;         // share of steps that take up to 5 times as long
  double drift = 0;        // growth over the run
  double every_other = 0;  // share of steps that are twice as long
  int kinds = 1;           // the second kind is 3 times as long
  double spells = 0;       // steps in a spell at another speed of the machine, 1.45 times slower
  int updates = 0;         // one step in so many is `update` times as long
  double update = 8;
  int block = 3;  // steps
};

class Simulation {
 public:
  Simulation(const Model& model, uint64_t seed) : model_(model), random_(seed) {}

  std::vector<StepSample> Run(int steps) {
    std::vector<StepSample> out;
    bool before = false;
    while (static_cast<int>(out.size()) < steps) {
      const bool control = uniform_(random_) < 0.06;
      for (int i = 0; i < 3; ++i) {
        const bool switched = control != before;
        before = control;
        const double progress = static_cast<double>(out.size()) / steps;
        out.push_back(Step(control, switched, progress));
      }
    }
    return out;
  }

 private:
  StepSample Step(bool control, bool switched, double progress) {
    StepSample s;
    s.kind = static_cast<uint32_t>(uniform_(random_) * model_.kinds);
    double ns = (s.kind == 1 ? 3e6 : 1e6) * (1 + model_.drift * progress) * std::exp(Noise());
    if (uniform_(random_) < model_.tail) ns *= 1 + 4 * uniform_(random_);
    if (uniform_(random_) < model_.every_other) ns *= 2;
    if (model_.updates > 0 && ++number_ % model_.updates == 0) ns *= model_.update;
    if (model_.spells > 0 && uniform_(random_) < 1 / model_.spells) slow_ = !slow_;
    if (slow_) ns *= 1.45;
    if (!control) ns *= model_.inflation;
    if (switched) ns *= 1.4;  // caches are cold: must count in neither arm
    s.ns = std::llround(ns);
    s.level = control ? 0 : 3;
    s.counts = !switched;
    s.probe_ps = control ? 0 : (s.kind == 1 ? 300'000'000 : 100'000'000);
    return s;
  }
  double Noise() {
    state_ = model_.correlation * state_ +
             std::sqrt(1 - model_.correlation * model_.correlation) * normal_(random_);
    return model_.noise * state_;
  }

  const Model& model_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  double state_ = 0;
  bool slow_ = false;
  int number_ = 0;
};

class KnownInflation : public ::testing::TestWithParam<Model> {};

TEST_P(KnownInflation, IsCoveredByTheIntervalIn85To100PercentOfSeedsAndIsNarrow) {
  const Model& model = GetParam();
  constexpr int kSeeds = 60;
  int covered = 0;
  double half = 0, bias = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Inflation got = MeasureInflation(Simulation(model, seed).Run(2000));
    ASSERT_TRUE(got.checked) << got.why_not;
    covered += got.low <= model.inflation && model.inflation <= got.high;
    half += (got.high - got.low) / 2 / got.ratio / kSeeds;
    bias += (got.ratio / model.inflation - 1) / kSeeds;
  }
  EXPECT_GE(covered, kSeeds * 85 / 100);
  EXPECT_LE(half, 0.03);
  EXPECT_NEAR(bias, 0, 0.005);
}

INSTANTIATE_TEST_SUITE_P(
    Models, KnownInflation,
    ::testing::Values(Model{"quiet", 1.15}, Model{"none", 1.0}, Model{"tail", 1.1, 0.05, 0, 0.02},
                      Model{"drift", 1.15, 0.05, 0, 0, 1.0}, Model{"correlated", 1.2, 0.05, 0.9},
                      Model{"bimodal", 1.15, 0.03, 0, 0, 0, 0.12},
                      Model{"kinds", 1.3, 0.05, 0, 0, 0, 0, 2}, Model{"heavy", 2.5, 0.06, 0.5},
                      Model{"spells", 1.2, 0.03, 0, 0, 0, 0, 1, 12},
                      Model{"updates", 1.04, 0.05, 0.5, 0, 0, 0, 1, 0, 4},
                      Model{"every_second", 1.1, 0.05, 0, 0, 0, 0, 1, 0, 2, 3},
                      Model{"agent", 1.04, 0.05, 0.5, 0.02, 0.5, 0, 1, 0, 4, 10},
                      Model{"seldom", 1.15, 0.05, 0, 0, 0, 0, 1, 0, 20, 30}),
    [](const auto& info) { return info.param.name; });

// Blocks of 24 steps begin where a program that updates each fourth step updates.
TEST(MeasureInflation, FirstStepsAfterASwitchThatAllUpdateAreComparedWithUpdates) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(0, 0.04);
  std::vector<StepSample> steps;
  for (int block = 0; block < 400; ++block) {
    const bool control = block % 8 == 3;
    for (int i = 0; i < 24; ++i) {
      StepSample s;
      s.level = control ? 0 : 1;
      s.switched = i == 0 && (control || block % 8 == 4);
      s.counts = !s.switched && (!control || i >= 6);
      const double own = (i % 4 == 0 ? 800'000 : 100'000) * std::exp(noise(random));
      s.ns = std::llround(own * (control ? 1 : 1.05) * (s.switched ? 1.2 : 1));
      steps.push_back(s);
    }
  }
  const Inflation got = MeasureInflation(steps);
  EXPECT_NEAR(got.ratio, 1.05, 0.01);
  ASSERT_EQ(got.levels.size(), 3);
  EXPECT_EQ(got.levels[1].level, kToControlArm);
  EXPECT_NEAR(got.levels[1].ratio, 1.2, 0.03);
  EXPECT_EQ(got.levels[2].level, kSwitchedArm);
  EXPECT_NEAR(got.levels[2].ratio, 1.26, 0.03);
}

TEST(MeasureInflation, IsNotCheckedUnderTwentyBlocks) {
  const Inflation got = MeasureInflation(Simulation(Model{"few", 1.2}, 1).Run(150));
  EXPECT_FALSE(got.checked);
  EXPECT_THAT(got.why_not, MatchesRegex("too few control steps, [0-9]+ of 20 blocks"));
  EXPECT_EQ(got.ratio, 1);
}

TEST(MeasureInflation, GivesTheSameAnswerTwice) {
  const auto steps = Simulation(Model{"quiet", 1.15}, 3).Run(1500);
  EXPECT_EQ(MeasureInflation(steps).low, MeasureInflation(steps).low);
}

TEST(MeasureInflation, TakesAHundredThousandSteps) {
  const Inflation got = MeasureInflation(Simulation(Model{"quiet", 1.15}, 5).Run(100'000));
  EXPECT_NEAR(got.ratio, 1.15, 0.005);
}

// A kind that only comes right behind a switch has nothing to be compared with: it does not make
// the switch look cheap.
TEST(MeasureInflation, StepsWithoutNeighboursSayNothingOfASwitch) {
  std::vector<StepSample> steps;
  for (int block = 0; block < 120; ++block) {
    const bool control = block % 3 == 0;
    for (int i = 0; i < 4; ++i) {
      StepSample s;
      s.level = control ? 0 : 1;
      s.switched = i == 0 && block % 3 != 2;
      s.counts = !s.switched;
      s.kind = !control && i == 0 && block % 2 == 0 && s.switched ? 2 : control && i == 3 ? 2 : 1;
      s.ns = s.switched ? 1'400'000 : 1'000'000;
      steps.push_back(s);
    }
  }
  const Inflation got = MeasureInflation(steps);
  ASSERT_TRUE(got.checked) << got.why_not;
  for (const LevelInflation& level : got.levels) {
    if (level.level != kSwitchedArm) continue;
    EXPECT_NEAR(level.ratio, 1.4, 0.01);
  }
}

// Several kinds in each block: it is one block all the same.
TEST(MeasureInflation, ABlockOfSeveralKindsIsOne) {
  std::vector<StepSample> steps;
  for (int block = 0; block < 90; ++block) {
    for (int i = 0; i < 6; ++i) {
      StepSample s;
      s.level = block % 3 == 0 ? 0 : block % 3 == 1 ? 1 : 2;
      s.switched = i == 0;
      s.counts = !s.switched;
      s.kind = static_cast<uint32_t>(i % 2);
      s.ns = 1'000'000 + i;
      steps.push_back(s);
    }
  }
  const Inflation got = MeasureInflation(steps);
  ASSERT_TRUE(got.checked) << got.why_not;
  EXPECT_EQ(got.profiled_blocks, 60);
  int64_t blocks = 0;
  for (const LevelInflation& level : got.levels) {
    if (!IsSwitchArm(level.level)) blocks += level.blocks;
  }
  EXPECT_EQ(blocks, got.profiled_blocks);
}

// Long steps of a kind of their own, in so many blocks of control steps. Blocks differ in speed.
TEST(MeasureInflation, StepsThatFewBlocksHaveLeaveTheIntervalAsOpenAsTheyAre) {
  constexpr int kSeeds = 100;
  for (const int few : {1, 2, 5, 8}) {
    int covered = 0;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      std::mt19937_64 random(seed);
      std::normal_distribution<double> noise(0, 0.1);
      std::vector<StepSample> steps;
      for (int block = 0; block < 400; ++block) {
        const bool control = block % 8 == 0, has_long = control ? block / 8 < few : block % 5 == 1;
        const double speed = std::exp(noise(random));
        for (int i = 0; i < 6; ++i) {
          StepSample s;
          s.level = control ? 0 : 1;
          s.kind = has_long && i > 0;
          s.ns = std::llround((s.kind == 1 ? 5e7 : 1e6) * speed * std::exp(noise(random) / 10));
          steps.push_back(s);
        }
      }
      const Inflation got = MeasureInflation(steps);
      ASSERT_TRUE(got.checked) << got.why_not;
      covered += got.low <= 1 && 1 <= got.high;
    }
    EXPECT_GE(covered, kSeeds * 85 / 100) << few;
  }
}

Inflation Measured(double ratio, double low, double high) {
  Inflation i;
  i.checked = true;
  i.ratio = ratio, i.low = low, i.high = high;
  i.step_ns = 1000;
  i.estimated_ns = 100;
  i.timed_ns = 50;
  return i;
}

TEST(ScaleOf, IsTheMeasuredExcessOverTheEstimateWhereThatIsSharp) {
  const Scale s = ScaleOf(Measured(1.25, 1.249, 1.251), {});
  EXPECT_NEAR(s.value, (200.0 - 50) / 100, 0.001);
  EXPECT_NEAR(s.high - s.low, 0.0128, 0.001);  // 1000 * (1 / 1.249 - 1 / 1.251) / 100
  EXPECT_NEAR(ScaleOf(Measured(2, 1.99, 2.01), {}).value, 4.5, 0.03);
}

TEST(ScaleOf, IsTheUsualOneWhereNothingWasComparedOrTheComparisonSaysNothing) {
  const Scale unchecked = ScaleOf({}, {});
  EXPECT_NEAR(unchecked.value, 3, 0.01);
  EXPECT_NEAR(unchecked.low, 3 * std::exp(-1.96 * 0.8), 0.01);
  EXPECT_NEAR(unchecked.high, 3 * std::exp(1.96 * 0.8), 0.1);
  EXPECT_GT(ScaleOf({}, {0.5, 2}).high, unchecked.high);
  Inflation vague = Measured(1.0, 0.2, 5);
  vague.estimated_ns = 0.01;
  EXPECT_NEAR(ScaleOf(vague, {}).value, 3, 0.02);
}

TEST(ScaleOf, LiesBetweenTheUsualAndAVagueMeasurementAndIsNeverNegative) {
  const Scale between = ScaleOf(Measured(1.05, 0.9, 1.2), {});
  EXPECT_GT(between.value, 0);
  EXPECT_LT(between.value, 3);
  EXPECT_LT(between.high - between.low, (1000 / 0.9 - 1000 / 1.2) / 100);
  const Scale negative = ScaleOf(Measured(0.9, 0.85, 0.95), {});
  EXPECT_GT(negative.low, 0);
  EXPECT_LT(negative.value, 1);
}

TEST(ScaleOf, BelievesAMeasurementFarFromTheUsualWhereOthersCostTime) {
  // 1.06 +- 0.02 where the probes explain 0.001: sixty times what they were calibrated to.
  Inflation far = Measured(1.06, 1.021, 1.1);
  far.estimated_ns = 1;
  far.timed_ns = 0;
  EXPECT_LT(ScaleOf(far, {}).value, 20);
  const Scale believed = ScaleOf(far, {1, 1, false});
  EXPECT_NEAR(believed.value, 1000 * (1 - 1 / 1.06), 1);
  EXPECT_NEAR(believed.low, 1000 * (1 - 1 / 1.021), 2);
  EXPECT_NEAR(believed.high, 1000 * (1 - 1 / 1.1), 2);
  // Without a measurement there is nothing to believe.
  EXPECT_EQ(ScaleOf({}, {1, 1, false}).high, ScaleOf({}, {}).high);
}

TEST(Correct, UsesTheLargestRemainderAndClampsAtZero) {
  const LayerSet py = Bit(Layer::kPython), cpp = Bit(Layer::kFramework);
  // 1.4 + 1.4 + 1.2 = 4: floors leave 1, which goes to the first of the largest remainders.
  std::vector<Cell> cells = {
      {1, py, 10, 1400}, {1, cpp, 1, 1400}, {2, py, 10, 1200}, {2, kControlBit, 50, 9000}};
  cells[3].control = true;
  const Correction got = Correct(cells, {1});
  EXPECT_EQ(got.estimated_ns, 4);
  EXPECT_THAT(got.corrected_ns, ElementsAre(8, 0, 9, 50));
  EXPECT_EQ(got.unplaced_ns, 0);
  const Correction twice = Correct(cells, {2});
  EXPECT_EQ(twice.estimated_ns, 8);
  EXPECT_EQ(twice.corrected_ns[1], 0);
  EXPECT_GT(twice.unplaced_ns, 0);
}

TEST(Correct, TakesItsPartOfTheTimeInFirstStepsAfterASwitch) {
  const LayerSet py = Bit(Layer::kPython), ours = Bit(Layer::kOverhead);
  std::vector<Cell> cells = {
      {1, py, 1000, 10'000, 100}, {1, kControlBit, 400, 0, 200}, {1, ours, 30, 0, 30}};
  cells[1].control = true;
  const Correction got = Correct(cells, {2, 0.1, 0.25});
  EXPECT_THAT(got.corrected_ns, ElementsAre(1000 - 20 - 10, 400 - 50, 0));
}

// Left out as the last one: its marks cost what they cost elsewhere, until the program's end.
TEST(Correct, MarksBehindALeftOutStepHaveTheirCost) {
  TestTrace t;
  const auto p = t.Process("p", 0, 10'000'000);
  const auto lead = t.Lead(p);
  t.Step(p, 0, 1'000'000, 3);
  t.Step(p, 1'000'000, 2'000'000, trace::kMarksLevel);
  for (int64_t i = 0; i < 100; ++i) {
    t.Operation(lead, "save", 3'000'000 + i * 10'000, 3'005'000 + i * 10'000);
  }
  trace::Trace& trace = t.Finish();
  const trace::StringId probe = trace.strings.Intern("op");
  for (trace::Name& name : trace.names) name.probe = probe;
  trace.processes[0].probes.push_back({probe, 100'000, 0, 100'000, 100'000, 9});
  const Accounting a(trace);
  int64_t subtracted = 0;
  for (size_t i = 0; i < a.processes[0].overlap.cells.size(); ++i) {
    const Cell& cell = a.processes[0].overlap.cells[i];
    if (cell.part == WindowPart::kShutdown) {
      subtracted += cell.ns - a.processes[0].correction.corrected_ns[i];
    }
  }
  EXPECT_NEAR(static_cast<double>(subtracted), 100 * 100 * a.processes[0].scale.value, 10);
}

TEST(Correct, KeepsItsIdentityOnRandomTraces) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    TestTrace random = RandomTrace(seed);
    trace::Trace& trace = random.Finish();
    const trace::StringId probe = trace.strings.Intern("op");
    for (trace::Name& name : trace.names) name.probe = probe;
    const int64_t unswitched = static_cast<int64_t>(seed % 2) * 800;
    trace.processes[0].probes.push_back(
        {probe, 700, 1900, 2000, 3000, 9, unswitched, unswitched / 2, unswitched * 2});
    for (trace::Step& step : trace.processes[0].steps)
      step.level = std::min<uint8_t>(step.level, 3);
    const Accounting a(trace);
    const ProcessAccount& p = a.processes[0];
    int64_t raw = 0, corrected = 0;
    for (size_t i = 0; i < p.overlap.cells.size(); ++i) {
      raw += p.overlap.cells[i].ns;
      corrected += p.correction.corrected_ns[i];
      ASSERT_GE(p.correction.corrected_ns[i], 0);
      ASSERT_LE(p.correction.corrected_ns[i], p.overlap.cells[i].ns);
      ASSERT_LE(p.low.corrected_ns[i], p.high.corrected_ns[i] + 1);
    }
    ASSERT_EQ(raw - corrected + p.correction.unplaced_ns, p.correction.estimated_ns);
    // The table tells what was subtracted, each probe's part rounded by itself.
    const Integers subtracted = Compute(trace, "overhead").integers("subtracted_ns");
    ASSERT_NEAR(static_cast<double>(std::accumulate(subtracted.begin(), subtracted.end(), 0LL)),
                static_cast<double>(raw - corrected), 2)
        << "seed " << seed;
  }
}

// Two threads with probes: the lead's count, the engine's count while the lead waits for it.
TEST(Probes, OnTheLeadAndOnTheThreadItWaitsForAreSubtractedOthersOnlyTold) {
  TestTrace t;
  const auto p = t.Process("p", 0, 100'000);
  const auto lead = t.Lead(p);
  const auto op = t.Name("op", Kind::kSpan, Layer::kFramework, false, "op");
  t.Span(lead, 0, 10'000, op);
  t.Span(lead, 20'000, 60'000, t.Name("wait", Kind::kSpan, Layer::kFramework, true));
  const auto engine = t.Thread(p);
  t.Span(engine, 30'000, 40'000, op);
  t.Span(engine, 40'000, 50'000, op);
  t.Span(engine, 70'000, 80'000, op);
  const trace::StringId probe = t.trace().strings.Intern("op");
  t.process(p).probes.push_back({probe, 1'000'000, 0, 900'000, 1'200'000, 10});
  const trace::Trace& trace = t.Finish();
  const Accounting a(trace);
  const ProbeCounts& n = a.processes[0].overlap.probes[1];
  EXPECT_EQ(n.lead, 1);
  EXPECT_EQ(n.waited, 2);
  EXPECT_EQ(n.other, 1);
  // Three probes of 1,000 ns, at the usual scale: nothing was compared here.
  EXPECT_EQ(a.processes[0].correction.estimated_ns,
            std::llround(3000 * a.processes[0].scale.value));
  const Context context(trace);
  const Table overhead = *ComputeTable(trace, context, "overhead");
  EXPECT_THAT(overhead.texts("probe"), ElementsAre("op", "timed", "unplaced"));
  EXPECT_EQ(overhead.integers("count")[0], 4);
  const Scale& scale = a.processes[0].scale;
  EXPECT_EQ(overhead.integers("total_ns")[0], std::llround(4000 * scale.value));
  EXPECT_EQ(overhead.integers("low_ns")[0], std::llround(4000 * scale.low));
  EXPECT_EQ(overhead.integers("high_ns")[0], std::llround(4000 * scale.high));
  EXPECT_EQ(overhead.integers("subtracted_ns")[0], std::llround(3000 * scale.value));
}

// As CUPTI's own work in a call: the scale is that of what control steps are without.
TEST(Probes, WhatControlStepsHaveTooIsSubtractedByItsOwnMeasureAndBounds) {
  TestTrace t;
  const auto p = t.Process("p", 0, 100'000);
  const auto lead = t.Lead(p);
  const auto call = t.Name("cudaLaunchKernel", Kind::kSpan, Layer::kRuntime, false, "CUDA launch");
  t.Span(lead, 0, 10'000, call);
  t.Span(lead, 20'000, 30'000, call);
  const trace::StringId probe = t.trace().strings.Intern("CUDA launch");
  t.process(p).probes.push_back(
      {probe, 300'000, 0, 300'000, 300'000, 10, 2'400'000, 2'100'000, 3'000'000});
  const trace::Trace& trace = t.Finish();
  const Accounting a(trace);
  const ProcessAccount& account = a.processes[0];
  const double scaled = 2 * 300 * account.scale.value;
  EXPECT_EQ(account.correction.estimated_ns, std::llround(scaled + 2 * 2400));
  int64_t in_calls = 0;
  for (size_t i = 0; i < account.overlap.cells.size(); ++i) {
    const Cell& cell = account.overlap.cells[i];
    if (cell.layers == Bit(Layer::kRuntime)) in_calls += account.correction.corrected_ns[i];
  }
  EXPECT_NEAR(static_cast<double>(in_calls), 20'000 - scaled - 4800, 2);
  EXPECT_EQ(account.high.estimated_ns, std::llround(2 * 300 * account.scale.low + 2 * 2100));
  EXPECT_EQ(account.low.estimated_ns, std::llround(2 * 300 * account.scale.high + 2 * 3000));
  const Context context(trace);
  const Table overhead = *ComputeTable(trace, context, "overhead");
  EXPECT_THAT(
      overhead.texts("probe"),
      ElementsAre("CUDA launch", "CUDA launch, also in control steps", "timed", "unplaced"));
  EXPECT_EQ(overhead.integers("count")[1], 2);
  EXPECT_EQ(overhead.integers("subtracted_ns")[1], 4800);
  EXPECT_EQ(overhead.integers("low_ns")[1], 4200);
  EXPECT_EQ(overhead.integers("high_ns")[1], 6000);
}

// A damaged log may say that a probe costs anything.
TEST(Probes, ThatCostMoreThanAnyCanAreNotBelieved) {
  for (const int64_t cost : {INT64_MAX, INT64_MIN}) {
    TestTrace t;
    const auto p = t.Process("p", 0, 1'000'000);
    const auto lead = t.Lead(p);
    const auto op = t.Name("op", Kind::kSpan, Layer::kFramework, false, "op");
    for (int64_t i = 0; i < 100; ++i) t.Span(lead, i * 1000, i * 1000 + 500, op);
    t.process(p).probes.push_back(
        {t.trace().strings.Intern("op"), cost, cost, cost, cost, 9, cost, cost, cost});
    const trace::Trace& trace = t.Finish();
    const Accounting a(trace);
    EXPECT_GE(a.processes[0].correction.estimated_ns, 0);
    const Table overhead = Compute(trace, "overhead");
    for (const char* column : {"inside_ns", "total_ns", "low_ns", "high_ns"}) {
      EXPECT_GE(overhead.integers(column)[0], 0) << column;
    }
  }
}

TEST(Probes, TimeInLayerOverheadAloneIsAllOurs) {
  TestTrace t;
  const auto p = t.Process("p", 0, 100);
  const auto lead = t.Lead(p);
  t.Spans(lead, Layer::kOverhead, {{10, 30}});
  const trace::Trace& trace = t.Finish();
  const Context context(trace);
  const Table overhead = *ComputeTable(trace, context, "overhead");
  EXPECT_EQ(overhead.integers("total_ns")[0], 20);
  const Table processes = *ComputeTable(trace, context, "processes");
  EXPECT_EQ(processes.integers("corrected_ns")[0], 80);
  EXPECT_EQ(processes.integers("corrected_low_ns")[0], 78) << "runs differ by 1.96 %";
  EXPECT_EQ(processes.integers("corrected_high_ns")[0], 82);
}

TEST(Probes, WhereNothingWasSubtractedThereIsNoInterval) {
  TestTrace t;
  t.Lead(t.Process("p", 0, 100));
  const trace::Trace& trace = t.Finish();
  const Context context(trace);
  const Table processes = *ComputeTable(trace, context, "processes");
  EXPECT_EQ(processes.integers("corrected_low_ns")[0], 100);
  EXPECT_EQ(processes.integers("corrected_high_ns")[0], 100);
}

// A program whose truth is known: 100 ops of 1,000 ns in a step, 500 ns of Python before each. An
// op's probe really costs 200 ns inside and 100 outside; calibration says three quarters of it. All
// of a step takes a fifth longer right after a switch.
class KnownProgram {
 public:
  KnownProgram() : p_(t_.Process("p", 0, 0)), lead_(t_.Lead(p_)) {
    t_.track(lead_).base_at_ns = {0};
    t_.track(lead_).base = {Layer::kPython};
    op_ = t_.Name("op", Kind::kSpan, Layer::kFramework, false, "op");
    t_.process(p_).probes.push_back(
        {t_.trace().strings.Intern("op"), 150'000, 75'000, 200'000, 250'000, 100});
    std::mt19937_64 random(9);
    bool before = false;
    for (int block = 0; block < 700; ++block) {
      const bool control = random() % 14 == 0;
      for (int i = 0; i < 3; ++i) {
        Step(control, before != control);
        before = control;
      }
    }
    t_.process(p_).end_ns = t_.track(lead_).end_ns = at_;
    t_.Finish();
  }
  const trace::Trace& trace() { return t_.trace(); }
  int64_t profiled() const { return profiled_; }
  int64_t switched_to_control() const { return switched_to_control_; }

 private:
  void Step(bool control, bool after_switch) {
    const int64_t begin = at_;
    const int64_t tenths = after_switch ? 12 : 10;
    for (int i = 0; i < 100; ++i) {
      at_ += (control ? 50 : 60) * tenths;
      const int64_t length = (control ? 100 : 120) * tenths;
      if (!control) t_.Span(lead_, at_, at_ + length, op_);
      at_ += length;
    }
    profiled_ += !control;
    switched_to_control_ += control && after_switch;
    t_.Step(p_, begin, at_, control ? 0 : 3, after_switch);
  }

  TestTrace t_;
  trace::ProcessId p_;
  trace::TrackId lead_;
  trace::NameId op_;
  int64_t at_ = 0, profiled_ = 0, switched_to_control_ = 0;
};

TEST(OfUnrecordedRun, AddsWhatSeparateRunsDifferByInQuadrature) {
  const Bounds bounds = OfUnrecordedRun(1'000'000, {985'300, 1'014'700}, 0.01);
  EXPECT_EQ(bounds.low, 1'000'000 - 24'500);  // hypot(1.47 %, 1.96 %) = 2.45 %
  EXPECT_EQ(bounds.high, 1'000'000 + 24'500);
  EXPECT_EQ(OfUnrecordedRun(100, {-5000, 200}, 0.01).low, 0);
  EXPECT_EQ(OfUnrecordedRun(100, {100, 100}, 0.01).low, 100) << "nothing was corrected";
}

TEST(Correction, FindsTheUnrecordedTimesOfAProgramWhoseTruthIsKnown) {
  KnownProgram program;
  const Context context(program.trace());
  const Table check = *ComputeTable(program.trace(), context, "overhead_check");
  ASSERT_EQ(check.integers("checked")[0], 1) << check.texts("message")[0];
  EXPECT_NEAR(check.reals("inflation")[0], 1.2, 1e-6);
  EXPECT_NEAR(check.reals("scale")[0], 4.0 / 3, 2e-3);
  EXPECT_EQ(check.integers("control_step_ns")[0], 150'000);
  // Every profiled step loses what its probes cost, the first after a switch what that cost, too;
  // other control steps lose nothing: all are 150 us.
  const Table steps = *ComputeTable(program.trace(), context, "steps");
  for (size_t i = 0; i < steps.rows(); ++i) {
    EXPECT_NEAR(static_cast<double>(steps.integers("corrected_ns")[i]), 150'000, 50);
    EXPECT_LE(steps.integers("corrected_low_ns")[i], steps.integers("corrected_ns")[i]);
    EXPECT_GE(steps.integers("corrected_high_ns")[i], steps.integers("corrected_ns")[i]);
  }
  const Table layers = *ComputeTable(program.trace(), context, "layers");
  for (size_t i = 0; i < layers.rows(); ++i) {
    const auto got = static_cast<double>(layers.integers("corrected_ns")[i]);
    const auto steps = static_cast<double>(program.profiled());
    const std::string& layer = layers.texts("layers")[i];
    if (layer == "control") {
      const double control = static_cast<double>(layers.integers("ns")[i]);
      EXPECT_NEAR(got, control - program.switched_to_control() * 30'000.0, control / 1e5);
      continue;
    }
    EXPECT_NEAR(got / steps, layer == "python" ? 50'000 : 100'000, 50);
  }
  // The table overhead tells what the corrected columns lack.
  const Table overhead = *ComputeTable(program.trace(), context, "overhead");
  const Table processes = *ComputeTable(program.trace(), context, "processes");
  const Integers& subtracted = overhead.integers("subtracted_ns");
  EXPECT_NEAR(
      static_cast<double>(std::accumulate(subtracted.begin(), subtracted.end(), 0LL)),
      static_cast<double>(processes.integers("wall_ns")[0] - processes.integers("corrected_ns")[0]),
      2);
  // A run without Crosscut lies within what runs differ by and the scale's own bounds; below, also
  // within the 5 % that control steps of 150 us may be longer themselves.
  const auto truth = 150'000.0 * static_cast<double>(steps.rows());
  const auto low = static_cast<double>(processes.integers("corrected_low_ns")[0]) / truth;
  const auto high = static_cast<double>(processes.integers("corrected_high_ns")[0]) / truth;
  EXPECT_LT(low, 1 - 0.05);
  EXPECT_GT(low, 1 - 0.05 - 0.03);
  EXPECT_GT(high, 1 + 0.019);
  EXPECT_LT(high, 1 + 0.03);
}

}  // namespace
}  // namespace crosscut::analyze
