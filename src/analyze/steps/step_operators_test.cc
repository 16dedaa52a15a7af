#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "src/analyze/accounting/overhead.h"
#include "src/analyze/steps/step_classes.h"
#include "src/analyze/steps/tables.h"
#include "src/analyze/table_notes.h"
#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TestTrace;
using trace::Kind;
using trace::Layer;

constexpr int64_t kStepNs = 1'000'000;

// A training loop with two operators in every step: `mm` once, `add` three times, recorded where
// the step's level is at least operators; and a boundary call at every level but control.
class Loop {
 public:
  explicit Loop(uint64_t seed) : random_(seed) {
    process_ = test_.Process("loop", 0, int64_t{1} << 40);
    lead_ = test_.Lead(process_);
    mm_ = test_.Name("aten::mm", Kind::kSpan, Layer::kFramework, false, "op");
    add_ = test_.Name("aten::add", Kind::kSpan, Layer::kFramework, false, "op");
    call_ = test_.Name("torch.mm", Kind::kSpan, Layer::kFramework, false, "boundary");
  }

  // A step whose work is `size` times as much. Returns what mm took, recorded or not.
  int64_t Step(uint8_t level, bool after_switch = false, double size = 1) {
    const double speed = size * std::exp(0.05 * normal_(random_));
    const auto mm = static_cast<int64_t>(400'000 * speed * std::exp(0.05 * normal_(random_)));
    const auto length = static_cast<int64_t>(kStepNs * speed) + (after_switch ? 100'000 : 0);
    test_.Step(process_, now_, now_ + length, level, after_switch);
    if (level >= 1) test_.Span(lead_, now_ + 1'000, now_ + 3'000 + mm, call_);
    if (level >= 2) {
      test_.Span(lead_, now_ + 2'000, now_ + 2'000 + mm, mm_);
      for (int i = 0; i < 3; ++i) {
        const int64_t at = now_ + length - 50'000 + i * 10'000;
        test_.Span(lead_, at, at + 5'000, add_);
      }
    }
    now_ += length;
    return mm;
  }

  // Blocks of three steps, each at a level drawn by these shares in per cent.
  void Blocks(int n, const std::vector<int>& shares, double size = 1) {
    std::discrete_distribution<int> levels(shares.begin(), shares.end());
    for (int b = 0; b < n; ++b) {
      const auto level = static_cast<uint8_t>(levels(random_));
      for (int i = 0; i < 3; ++i) mm_ns_.push_back(Step(level, level != last_ && i == 0, size));
      last_ = level;
    }
  }

  double mean_mm() const {
    double sum = 0;
    for (const int64_t ns : mm_ns_) sum += static_cast<double>(ns);
    return sum / static_cast<double>(mm_ns_.size());
  }
  trace::Trace& Finish() {
    test_.process(process_).end_ns = now_ + 1;
    test_.track(lead_).end_ns = now_ + 1;
    return test_.Finish();
  }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  TestTrace test_;
  trace::ProcessId process_;
  trace::TrackId lead_;
  trace::NameId mm_, add_, call_;
  int64_t now_ = 0;
  uint8_t last_ = 255;
  std::vector<int64_t> mm_ns_;
};

size_t RowOf(const Table& table, std::string_view kind, std::string_view name) {
  for (size_t row = 0; row < table.rows(); ++row) {
    if (table.texts("kind")[row] == kind && table.texts("name")[row] == name) return row;
  }
  ADD_FAILURE() << "no row of " << kind << ", " << name;
  return 0;
}

TEST(StepOperators, CountPerStepIsExactAndComesFromTheStepsThatShowTheName) {
  Loop loop(1);
  loop.Blocks(400, {5, 80, 10, 5});
  const trace::Trace& trace = loop.Finish();
  const Context context(trace);
  const Table table = StepOperatorsTable(trace, context);
  const size_t add = RowOf(table, "step", "aten::add"), call = RowOf(table, "step", "torch.mm");
  EXPECT_EQ(table.reals("count_per_step")[add], 3);
  EXPECT_EQ(table.integers("per_step_ns")[add], 15'000);
  EXPECT_EQ(table.integers("total_ns")[add], 15'000 * table.integers("of_steps")[add]);
  EXPECT_EQ(table.texts("level")[add], "operators");
  EXPECT_EQ(table.texts("level")[call], "boundary");
  EXPECT_LT(table.integers("steps")[add], 250);
  EXPECT_GT(table.integers("steps")[call], 700);
  EXPECT_GT(table.integers("of_steps")[call], 1'150);
}

TEST(StepOperators, IntervalsHoldWhatACompleteRecordingShows) {
  int held = 0;
  constexpr int kSeeds = 200;
  for (int seed = 0; seed < kSeeds; ++seed) {
    Loop loop(static_cast<uint64_t>(seed));
    loop.Blocks(700, {4, 91, 4, 1});
    const trace::Trace& trace = loop.Finish();
    const Context context(trace);
    const Table table = StepOperatorsTable(trace, context);
    const size_t mm = RowOf(table, "step", "aten::mm");
    const auto low = static_cast<double>(table.integers("low_ns")[mm]);
    const auto high = static_cast<double>(table.integers("high_ns")[mm]);
    held += low <= loop.mean_mm() && loop.mean_mm() <= high;
    EXPECT_LT((high - low) / 2, 0.05 * loop.mean_mm());
  }
  EXPECT_GE(held, kSeeds * 85 / 100);
}

TEST(StepOperators, OfThreeBlocksAndMoreHaveAnInterval) {
  Loop loop(3);
  for (int i = 0; i < 20; ++i) loop.Step(1);
  for (int i = 0; i < 6; ++i) loop.Step(2);
  const trace::Trace& trace = loop.Finish();
  const Context context(trace);
  const Table table = StepOperatorsTable(trace, context);
  EXPECT_EQ(table.integers("low_ns")[RowOf(table, "step", "aten::mm")], kMissing);
  EXPECT_NE(table.integers("low_ns")[RowOf(table, "step", "torch.mm")], kMissing);
}

TEST(StepOperators, SayFromHowManyStepsTheyCome) {
  Loop mixed(4), whole(5);
  for (const int level : {0, 1, 1, 2, 3, 1}) mixed.Step(static_cast<uint8_t>(level));
  for (int i = 0; i < 6; ++i) whole.Step(3);
  const trace::Trace& some = mixed.Finish();
  const auto note = [&](Shows shows) { return StepNotes(some, Context(some), shows); };
  EXPECT_THAT(note(Shows::kSpans),
              ElementsAre("loop: of 6 steps, operators come from 2, what was recorded only "
                          "with everything from 1, the rest from 5"));
  EXPECT_THAT(note(Shows::kOperators),
              ElementsAre("loop: of 6 steps, the rows come from 2, those with operators"));
  EXPECT_THAT(
      note(Shows::kEverything),
      ElementsAre("loop: of 6 steps, the rows come from 1, those recorded with everything"));
  EXPECT_THAT(note(Shows::kBoundary), ElementsAre("loop: of 6 steps, the rows come from 5: nothing "
                                                  "is recorded in control steps"));
  EXPECT_THAT(note(Shows::kTime),
              ElementsAre("loop: of 6 steps, 1 are control steps: their time is layer control, and "
                          "nothing in them is counted"));
  EXPECT_THAT(note(Shows::kMarks), note(Shows::kBoundary));
  EXPECT_THAT(note(Shows::kFacts), IsEmpty());
  const trace::Trace& all = whole.Finish();
  for (const TableEntry& entry : TableList()) {
    EXPECT_THAT(StepNotes(all, Context(all), entry.shows), IsEmpty()) << entry.name;
  }
}

TEST(StepOperators, SayForWhichStepsTheyStandWhereTheBudgetLeftSomeOut) {
  Loop loop(4);
  for (const int level : {0, 4, 4, 1, 2, 3}) loop.Step(static_cast<uint8_t>(level));
  const trace::Trace& trace = loop.Finish();
  const auto note = [&](Shows shows) { return StepNotes(trace, Context(trace), shows)[0]; };
  EXPECT_EQ(note(Shows::kSpans),
            "loop: of 6 steps, operators come from 2, what was recorded only with everything from "
            "1, calls of native code from 3, the rest from 5");
  EXPECT_EQ(note(Shows::kMarks),
            "loop: of 6 steps, the rows come from 5: nothing is recorded in control steps");
  EXPECT_EQ(note(Shows::kBoundary),
            "loop: of 6 steps, the rows come from 3: control steps and those that the budget left "
            "out have none");
  EXPECT_EQ(note(Shows::kOperators),
            "loop: of 6 steps, the rows come from 2, those with operators");
  EXPECT_EQ(note(Shows::kTime),
            "loop: of 6 steps, 1 are control steps and 2 were left out by the budget: their time "
            "is layer control; nothing in control steps is counted, and of the others what the "
            "program marks");
}

TEST(StepNotes, StandInEveryTableThatDoesNotShowAllSteps) {
  Loop loop(4);
  for (const int level : {0, 1, 1, 2, 3, 1}) loop.Step(static_cast<uint8_t>(level));
  const trace::Trace& trace = loop.Finish();
  const Context context(trace);
  for (const TableEntry& entry : TableList()) {
    const Table table = entry.Make(trace, context);
    const size_t partial = entry.shows != Shows::kFacts ? 1 : 0;
    const size_t empty = table.rows() == 0 && entry.recorded_by != nullptr ? 1 : 0;
    EXPECT_EQ(table.notes.size(), partial + empty) << entry.name;
  }
}

TEST(StepClasses, KeepWarmUpLongerStepsAndHiccupsApart) {
  Loop loop(6);
  for (int i = 0; i < 4; ++i) loop.Step(3, false, 6);
  for (int round = 0; round < 40; ++round) {
    loop.Blocks(4, {5, 80, 10, 5});
    loop.Step(round % 4 == 0 ? 2 : 1, false, 3);  // a longer sequence
    if (round % 20 == 7) loop.Step(1, false, 1.7);
  }
  const trace::Trace& trace = loop.Finish();
  const Context context(trace);
  const Table kinds = StepKindsTable(trace, context);
  EXPECT_THAT(kinds.texts("kind"),
              ElementsAre("step, warm-up", "step", "step, unusual", "step, longer"));
  EXPECT_THAT(kinds.integers("steps"), ElementsAre(4, 480, 2, 40));
  const Table table = StepOperatorsTable(trace, context);
  const auto per_step = [&](std::string_view kind) {
    return static_cast<double>(table.integers("per_step_ns")[RowOf(table, kind, "aten::mm")]);
  };
  EXPECT_NEAR(per_step("step"), 400'000, 16'000);
  EXPECT_NEAR(per_step("step, longer"), 1'200'000, 80'000);
  EXPECT_NEAR(per_step("step, warm-up"), 2'400'000, 240'000);
}

TEST(StepClasses, DoNotTakeTheCostOfALevelForOtherWork) {
  TestTrace test;
  const trace::ProcessId process = test.Process("loop", 0, int64_t{1} << 40);
  (void)test.Lead(process);
  int64_t now = 0;
  for (int block = 0; block < 200; ++block) {
    const uint8_t level = block % 8 == 0 ? 0 : block % 8 == 4 ? 3 : 1;
    const int64_t length = level == 3 ? 1'650'000 : 1'000'000;
    for (int i = 0; i < 3; ++i) {
      const int64_t noise = (block * 7 + i * 13) % 100 * 200;
      test.Step(process, now, now + length + noise, level, i == 0);
      now += length + noise;
    }
  }
  test.process(process).end_ns = now + 1;
  const trace::Trace& trace = test.Finish();
  const Table kinds = StepKindsTable(trace, Context(trace));
  EXPECT_THAT(kinds.texts("kind"), ElementsAre("step"));
}

// The first ones of many control steps in a row are no base of a comparison, but steps like others.
TEST(StepKinds, CountAllControlSteps) {
  Loop loop(7);
  for (int block = 0; block < 60; ++block) {
    for (int i = 0; i < 24; ++i) loop.Step(block % 2 == 0 ? 0 : 1, i == 0);
  }
  const trace::Trace& trace = loop.Finish();
  const Context context(trace);
  const Table kinds = StepKindsTable(trace, context);
  ASSERT_EQ(kinds.rows(), 1u);
  EXPECT_EQ(kinds.integers("steps")[0], 60 * 24);
  EXPECT_EQ(kinds.integers("control_steps")[0], 30 * 24);
  const Table levels = testing::Compute(trace, "overhead_levels");
  EXPECT_EQ(levels.texts("level").back(), "all");
  EXPECT_EQ(levels.integers("steps").back(), 60 * 24) << "every step of the run";
}

}  // namespace
}  // namespace crosscut::analyze
