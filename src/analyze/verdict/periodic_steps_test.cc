#include "src/analyze/verdict/periodic_steps.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

TEST(FindPeriod, FindsWhatIsSlowAtEqualDistances) {
  const Period found = FindPeriod({79, 159, 239, 319}, 399);
  EXPECT_EQ(found.period, 80);
  EXPECT_EQ(found.first, 79);
  EXPECT_EQ(found.count, 4);
  EXPECT_EQ(found.missed, 1);  // 399
}

TEST(FindPeriod, BearsAFewOthers) {
  EXPECT_EQ(FindPeriod({10, 13, 20, 30, 40, 50}, 55).period, 10);
  EXPECT_EQ(FindPeriod({3, 10, 13, 20, 27, 30}, 35).period, 0);  // half of them do not fit
}

TEST(FindPeriod, FindsNoneInFewOrInNeighbours) {
  EXPECT_EQ(FindPeriod({}, 100).period, 0);
  EXPECT_EQ(FindPeriod({10, 20}, 30).period, 0);
  EXPECT_EQ(FindPeriod({10, 20, 30}, 35).period, 10);  // three are enough
  EXPECT_EQ(FindPeriod({5, 6, 7, 8}, 100).period, 0);
}

TEST(FindPeriod, IsRightForRandomPeriodsAndRarelyFindsOneInChance) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    const auto period = static_cast<int64_t>(2 + random() % 90);
    const auto first = static_cast<int64_t>(random() % static_cast<uint64_t>(period));
    std::vector<int64_t> slow;
    for (int64_t n = first; n < first + 6 * period; n += period) slow.push_back(n);
    ASSERT_EQ(FindPeriod(slow, slow.back()).period, period) << "period " << period;
  }
  int found = 0;
  for (int i = 0; i < 2000; ++i) {
    std::set<int64_t> slow;
    while (slow.size() < 12) slow.insert(static_cast<int64_t>(random() % 1000));
    found += FindPeriod({slow.begin(), slow.end()}, 999).period != 0;
  }
  EXPECT_LE(found, 2);
}

// As a damaged log may have them; of few distances each may be the period.
TEST(FindPeriod, TakesAnyNumbers) {
  EXPECT_EQ(FindPeriod({-15, -5, 5, 15, 25}, 25).period, 10);
  EXPECT_EQ(FindPeriod({INT64_MIN, -1, INT64_MAX}, INT64_MAX).period, 0);
  std::vector<int64_t> slow = {0};
  for (int64_t i = 1; i < 200'000; ++i) slow.push_back(slow.back() + i);
  EXPECT_EQ(FindPeriod(slow, slow.back()).period, 0);
}

TEST(PeriodicSteps, CountStepsWhoseNumbersBeginAnewByTheirOrder) {
  std::string text = "process train pid=7 window=0..100000\nthread main tid=7 main lead\n";
  int64_t at = 0;
  for (int step = 0; step < 90; ++step) {
    const int64_t until = at + (step % 10 == 9 ? 700 : 100 + step % 3);
    text += "step step " + std::to_string(at) + " " + std::to_string(until) +
            " number=" + std::to_string(step % 30) + "\n";
    at = until;
  }
  const trace::Trace trace = testing::Parse(text);
  EXPECT_EQ(testing::Rows(trace, "periodic_steps"),
            (std::vector<std::string>{"train step 10 9 9 0 101 700 599 - none"}));
}

// Half as much longer than usual as the third longest, which is the limit: as many others as there
// are slow ones would hide the period.
TEST(PeriodicSteps, AStepExactlyAtTheLimitIsNotSlow) {
  for (const int more : {0, 1}) {
    std::string text = "process train pid=7 window=0..100000\nthread main tid=7 main lead\n";
    int64_t at = 0;
    for (int step = 0; step < 90; ++step) {
      const int64_t length = step % 10 == 9 ? 700 : step % 9 == 4 ? 400 + more : 100;
      text += "step step " + std::to_string(at) + " " + std::to_string(at + length) +
              " number=" + std::to_string(step) + "\n";
      at += length;
    }
    const std::vector<std::string> found = testing::Rows(testing::Parse(text), "periodic_steps");
    EXPECT_EQ(found.size(), more == 0 ? 1u : 0u);
  }
}

// Control steps that are slow, and all others on places of the same period.
TEST(PeriodicSteps, AreNoneWhereNothingTellsWhatIsUsual) {
  std::string text = "process train pid=7 window=0..100000\nthread main tid=7 main lead\n";
  int64_t at = 0;
  for (int step = 0; step < 50; ++step) {
    const bool slow = step % 5 != 4;
    const int64_t length = slow ? 700 : 100;
    text += "step step " + std::to_string(at) + " " + std::to_string(at + length) +
            " number=" + std::to_string(2 * step) + (slow ? " level=0" : "") + "\n";
    at += length;
  }
  EXPECT_TRUE(testing::Rows(testing::Parse(text), "periodic_steps").empty());
}

// Each kind is looked at once, not all steps for each.
TEST(PeriodicSteps, TakeManyKinds) {
  testing::TestTrace made;
  constexpr int64_t kSteps = 400'000;
  const trace::ProcessId process = made.Process("p", 0, kSteps * 10);
  made.Lead(process);
  for (int64_t i = 0; i < kSteps; ++i) {
    made.Step(process, i * 10, i * 10 + 10, 2);
    made.process(process).steps.back().kind =
        made.trace().strings.Intern("kind" + std::to_string(i / 10));
  }
  EXPECT_TRUE(testing::Rows(made.Finish(), "periodic_steps").empty());
}

TEST(PeriodicSteps, NamesTheOperationThatTheyHaveMore) {
  std::string text = "process train pid=7 window=0..100000\nthread main tid=7 main lead\n";
  int64_t at = 0;
  for (int step = 0; step < 60; ++step) {
    const int64_t length = step % 10 == 9 ? 700 : 100;
    const auto time = [&](int64_t ns) { return " " + std::to_string(at + ns); };
    text += "step step" + time(0) + time(length) + " number=" + std::to_string(step) + "\n";
    text += "op forward" + time(10) + time(50 + step % 3) + "\n";
    if (length == 700) text += "op evaluate" + time(60) + time(650) + "\n";
    at += length;
  }
  const trace::Trace trace = testing::Parse(text);
  EXPECT_EQ(testing::Rows(trace, "periodic_steps"),
            (std::vector<std::string>{"train step 10 9 6 0 100 700 600 evaluate operation"}));
}

// Each kind has a finding, and all of them one walk through the lead's time.
TEST(PeriodicSteps, NameTheLinesOfManyKinds) {
  constexpr int kKinds = 1000;
  std::string body;
  int64_t at = 0;
  const auto sample = [&](int64_t from, int64_t length, const std::string& line) {
    body += "instant [sample] " + std::to_string(from + length / 2) + "\narg covers_ns " +
            std::to_string(length) + "\narg \"Own line\" \"" + line +
            "\"\narg \"Python stack\" \"" + line + "\"\n";
  };
  for (int kind = 0; kind < kKinds; ++kind) {
    for (int step = 0; step < 30; ++step) {
      const int64_t length = step % 10 == 9 ? 700 : 100;
      body += "step kind" + std::to_string(kind) + " " + std::to_string(at) + " " +
              std::to_string(at + length) + " number=" + std::to_string(step) + "\n";
      sample(at, 100, "a.py:1 usual");
      if (length > 100) sample(at + 100, length - 100, "b.py:2 seldom");
      at += length;
    }
  }
  const Table table =
      testing::Compute(testing::Parse("process train pid=7 window=0.." + std::to_string(at) +
                                      "\nthread main tid=7 base=python main lead\n" + body),
                       "periodic_steps");
  EXPECT_EQ(table.rows(), static_cast<size_t>(kKinds));
  for (const std::string_view work : table.texts("work")) EXPECT_EQ(work, "b.py:2 seldom");
}

// 200 steps, of which eight sleep for long: each 25th, or those from `from` on.
std::string FirstCause(int from) {
  std::string body;
  int at = 0;
  for (int step = 0; step < 200; ++step) {
    const bool sleeps = from == 0 ? step % 25 == 24 : step >= from && step < from + 8;
    const std::string begin = std::to_string(at), works = std::to_string(at + 20);
    at += sleeps ? 980 : 20;
    const std::string end = std::to_string(at);
    body += "step step " + begin + " " + end + "\nspan aten::mm " + begin + " " + works +
            " framework\n";
    if (sleeps) body += "span time.sleep " + works + " " + end + " idle\n";
  }
  return testing::Compute(testing::Parse("process train pid=7 window=0.." + std::to_string(at) +
                                         "\nthread main tid=7 main lead\n" + body),
                          "verdict")
      .texts("cause")[0];
}

TEST(PeriodicSteps, WhatFewHaveAgainAndAgainBoundsTheSteps) {
  EXPECT_EQ(FirstCause(0), "waiting");
  EXPECT_NE(FirstCause(3), "waiting") << "at the begin alone";
}

}  // namespace
}  // namespace crosscut::analyze
