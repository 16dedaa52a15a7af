// Comparisons of whole traces: they add up, and are the same from either side.
#include "src/compare/comparison.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <numeric>

#include "src/analyze/testing/test_trace.h"
#include "src/compare/divide.h"
#include "src/compare/roles.h"

namespace crosscut::compare {
namespace {

using analyze::testing::RandomTrace;
using analyze::testing::TestTrace;

struct Recording {
  explicit Recording(TestTrace made)
      : test(std::move(made)), context(std::make_unique<analyze::Context>(test.Finish())) {}
  Run run() { return {&test.trace(), context.get()}; }
  TestTrace test;
  std::unique_ptr<analyze::Context> context;
};

Comparison CompareTwo(Recording& a, Recording& b) {
  const Run runs[] = {a.run(), b.run()};
  return Compare({{runs, 1}, {runs + 1, 1}});
}

std::map<std::string, int64_t> SumsBy(const analyze::Table& table, const char* key,
                                      const char* column) {
  std::map<std::string, int64_t> out;
  for (size_t row = 0; row < table.rows(); ++row) {
    const int64_t ns = table.integers(column)[row];
    if (ns != analyze::kMissing) out[table.texts(key)[row]] += ns;
  }
  return out;
}

TEST(Divide, AddsUpToTheRoundedQuotient) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    std::vector<int64_t> sums(random() % 9 + 1);
    for (int64_t& sum : sums) sum = static_cast<int64_t>(random() % 1000);
    const auto count = static_cast<int64_t>(random() % 50 + 1);
    const int64_t total = std::accumulate(sums.begin(), sums.end(), int64_t{0});
    const std::vector<int64_t> parts = DivideExactly(sums, count);
    EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), int64_t{0}),
              (2 * total + count) / (2 * count));
    for (size_t p = 0; p < parts.size(); ++p) {
      EXPECT_LE(std::abs(parts[p] * count - sums[p]), count);
    }
  }
}

TEST(Comparison, SplitsTheStepAndTheWindowToTheNanosecond) {
  int compared = 0;
  for (uint64_t seed = 1; seed <= 180; ++seed) {
    Recording a(RandomTrace(seed)), b(RandomTrace(seed + 1000));
    const Comparison c = CompareTwo(a, b);
    compared += c.Find("diff_steps")->rows() > 0;
    for (const char* column :
         {"a_ns", "b_ns", "change_ns", "a_corrected_ns", "b_corrected_ns", "change_corrected_ns"}) {
      const auto steps = SumsBy(*c.Find("diff_steps"), "process", column);
      EXPECT_EQ(SumsBy(*c.Find("diff_step_operations"), "process", column), steps);
      EXPECT_EQ(SumsBy(*c.Find("diff_step_overlap"), "process", column), steps);
    }
    EXPECT_EQ(SumsBy(*c.Find("diff_window"), "process", "change_ns"),
              SumsBy(*c.Find("diff_processes"), "process", "change_ns"));
  }
  EXPECT_GT(compared, 50);
}

// All changes of `forth` with the other sign, and A's figures in B's place.
void ExpectOpposite(const Comparison& forth, const Comparison& back) {
  for (const analyze::Table& table : forth.tables) {
    const analyze::Table& other = *back.Find(table.name);
    ASSERT_EQ(table.rows(), other.rows()) << table.name;
    for (const analyze::Column& column : table.columns) {
      const auto* cells = std::get_if<analyze::Integers>(&column.cells);
      if (cells == nullptr) continue;
      std::string name = column.name;
      const bool change = name.starts_with("change_");
      if (name.starts_with("a_")) name[0] = 'b';
      if (column.name.starts_with("b_")) name[0] = 'a';
      if (name == "low_ns" || name == "high_ns" || name.starts_with("own_")) continue;
      for (size_t row = 0; row < cells->size(); ++row) {
        const int64_t here = (*cells)[row], there = other.integers(name)[row];
        const bool known = here != analyze::kMissing;
        EXPECT_EQ(here, change && known ? -there : there) << table.name << " " << column.name;
      }
    }
  }
}

TEST(Comparison, IsZeroOfARunWithItselfAndOppositeTheOtherWayRound) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Recording a(RandomTrace(seed)), b(RandomTrace(seed + 500));
    ExpectOpposite(CompareTwo(a, b), CompareTwo(b, a));
    const Comparison same = CompareTwo(a, a);
    EXPECT_NE(same.answer.result, Answer::Result::kSlower);
    for (const analyze::Table& table : same.tables) {
      for (const analyze::Column& column : table.columns) {
        if (!column.name.starts_with("change_")) continue;
        const auto* cells = std::get_if<analyze::Integers>(&column.cells);
        if (cells == nullptr) continue;
        for (const int64_t cell : *cells) EXPECT_TRUE(cell == 0 || cell == analyze::kMissing);
      }
    }
  }
}

// A parent and children, as a data loader makes them.
TestTrace Family(const char* program, int children, int64_t first_pid) {
  TestTrace t;
  const trace::ProcessId parent = t.Process("p" + std::to_string(first_pid), 0, 100);
  t.process(parent).name = t.trace().strings.Intern(program);
  for (int i = 0; i < children; ++i) {
    const trace::ProcessId child = t.Process("p" + std::to_string(first_pid + 1 + i), 10 + i, 90);
    t.process(child).name = t.trace().strings.Intern(program);
    t.process(child).parent = parent;
  }
  return t;
}

TEST(Roles, AreMatchedByWhatProcessesAre) {
  Recording a(Family("train.py", 2, 100)), b(Family("train_new.py", 3, 700));
  const compare::Run runs[] = {a.run(), b.run()};
  const std::vector<Role> roles = MatchRoles({{runs, 1}, {runs + 1, 1}});
  ASSERT_EQ(roles.size(), 4);
  EXPECT_EQ(roles[0].label, "train.py");
  EXPECT_EQ(roles[1].label, "train.py, child 1");
  EXPECT_EQ(roles[2].label, "train.py, child 2");
  EXPECT_TRUE(roles[2].on_both());
  EXPECT_EQ(roles[3].label, "train_new.py, child 3");
  EXPECT_FALSE(roles[3].on_both());
}

// Two ranks with three operations each, in which rank `slower` learns for half as long again.
TestTrace Ranks(int slower) {
  TestTrace t;
  for (int rank = 0; rank < 2; ++rank) {
    const trace::ProcessId process = t.Process("rank" + std::to_string(rank), 0, 40'000'000);
    t.process(process).name = t.trace().strings.Intern("rank" + std::to_string(rank));
    const trace::TrackId thread = t.Thread(process);
    t.process(process).lead = thread;
    for (int64_t s = 0; s < 30; ++s) {
      const int64_t begin = 1'000'000 * s, learn = rank == slower ? 300'000 : 200'000;
      t.Operation(thread, "act", begin, begin + 200'000);
      t.Operation(thread, "learn", begin + 200'000, begin + 200'000 + learn);
      t.Operation(thread, "log", begin + 600'000, begin + 800'000);
      t.Span(thread, begin, begin + 999'000,
             t.Name("work", trace::Kind::kSpan, trace::Layer::kPython));
      t.Step(process, begin, begin + 800'000, 3);
    }
  }
  return t;
}

TEST(Comparison, IsAboutTheRankThatBecameSlower) {
  for (const int slower : {0, 1}) {
    Recording a(Ranks(-1)), b(Ranks(slower));
    const Comparison c = CompareTwo(a, b);
    const std::string rank = "rank" + std::to_string(slower);
    EXPECT_EQ(c.Find("diff_steps")->texts("process")[0], rank);
    EXPECT_TRUE(c.answer.headline.starts_with(rank + ": ")) << c.answer.headline;
    EXPECT_NE(c.answer.headline.find("learn"), std::string::npos) << c.answer.headline;
  }
}

TEST(Comparison, SaysWhyStepsCannotBeCompared) {
  Recording none(Family("train.py", 0, 1));
  EXPECT_NE(CompareTwo(none, none).answer.headline.find("crosscut.step()"), std::string::npos);
  const auto with_steps = [](int count, uint8_t level) {
    TestTrace t;
    const trace::ProcessId process = t.Process("p1", 0, 1000);
    t.process(process).lead = t.Thread(process);
    for (int i = 0; i < count; ++i) t.Step(process, 10 * i, 10 * i + 10, level);
    return t;
  };
  Recording few(with_steps(7, 2)), many(with_steps(40, 2)), boundary(with_steps(40, 1));
  EXPECT_EQ(CompareTwo(many, few).answer.why_not,
            "B has 7 steps that can be compared and needs 20; record more steps");
  EXPECT_EQ(
      CompareTwo(many, boundary).answer.why_not,
      "most of A's steps were recorded at level operators and most of B's at boundary; record "
      "all runs with the same --plan");
  EXPECT_EQ(CompareTwo(many, many).answer.result, Answer::Result::kSame);
  Recording here(with_steps(40, 2)), there(with_steps(40, 2));
  here.test.trace().machine = "x, 2 processors";
  EXPECT_EQ(CompareTwo(here, there).answer.why_not, "");
  there.test.trace().machine = "y, 2 processors";
  EXPECT_EQ(
      CompareTwo(here, there).answer.why_not,
      "A ran on another processor (x, 2 processors) than B (y, 2 processors); compare runs of "
      "one machine");
}

}  // namespace
}  // namespace crosscut::compare
