// Comparisons of whole traces: they add up, and are the same from either side.
#include "src/compare/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <random>

#include "src/compare/divide.h"
#include "src/compare/document.h"
#include "src/compare/roles.h"
#include "src/compare/test_recording.h"

namespace crosscut::compare {
namespace {

using analyze::testing::RandomTrace;
using analyze::testing::TestTrace;

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
      if (name.starts_with("own_")) continue;  // at the pace of A, whichever side that is
      const bool bound = name == "low_ns" || name == "high_ns";
      if (bound) name = name == "low_ns" ? "high_ns" : "low_ns";
      for (size_t row = 0; row < cells->size(); ++row) {
        const int64_t here = (*cells)[row], there = other.integers(name)[row];
        const bool known = here != analyze::kMissing;
        EXPECT_EQ(here, (change || bound) && known ? -there : there)
            << table.name << " " << column.name;
      }
    }
  }
}

TEST(Comparison, IsZeroOfARunWithItselfAndOppositeTheOtherWayRound) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Recording a(RandomTrace(seed)), b(RandomTrace(seed + 500));
    ExpectOpposite(CompareTwo(a, b), CompareTwo(b, a));
    const Comparison same = CompareTwo(a, a);
    EXPECT_EQ(same.answer.result,
              same.answer.why_not.empty() ? Answer::Result::kSame : Answer::Result::kNotCompared);
    for (const analyze::Table& table : same.tables) {
      for (const analyze::Column& column : table.columns) {
        if (!column.name.starts_with("change_")) continue;
        const auto* cells = std::get_if<analyze::Integers>(&column.cells);
        if (cells == nullptr) continue;
        const std::string name = "a_" + column.name.substr(strlen("change_"));
        const auto of_a = std::find_if(table.columns.begin(), table.columns.end(),
                                       [&](const auto& c) { return c.name == name; });
        for (size_t row = 0; row < cells->size(); ++row) {
          const bool known = of_a == table.columns.end() ||
                             std::get<analyze::Integers>(of_a->cells)[row] != analyze::kMissing;
          EXPECT_EQ((*cells)[row], known ? 0 : analyze::kMissing) << table.name << " " << name;
        }
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
  EXPECT_TRUE(roles[2].processes.a[0].valid() && roles[2].processes.b[0].valid());
  EXPECT_EQ(roles[3].label, "train_new.py, child 3");
  EXPECT_FALSE(roles[3].processes.a[0].valid() && roles[3].processes.b[0].valid());
}

TEST(Roles, WhatAProcessOfMultiprocessingRunsIsNoPartOfItsName) {
  const auto made = [](const char* name) {
    TestTrace t = Family("train.py", 1, 100);
    t.process(trace::ProcessId{1}).name = t.trace().strings.Intern(name);
    return Recording(std::move(t));
  };
  const auto roles_of = [&](const char* in_a, const char* in_b) {
    Recording a = made(in_a), b = made(in_b);
    const compare::Run runs[] = {a.run(), b.run()};
    return MatchRoles({{runs, 1}, {runs + 1, 1}}).size();
  };
  EXPECT_EQ(roles_of("Process-1 (work)", "Process-1 (play)"), 2);
  EXPECT_EQ(roles_of("SpawnPoolWorker-1:2 (work)", "SpawnPoolWorker-1:2 (a.play)"), 2);
  EXPECT_EQ(roles_of("Process-1 (work)", "Process-2 (work)"), 3);
  EXPECT_EQ(roles_of("Process- (work)", "Process- (play)"), 3);
  EXPECT_EQ(roles_of("Actor (work)", "Actor (play)"), 3);
}

// Two ranks with three operations each, which learn for so long.
TestTrace Ranks(std::array<int64_t, 2> learns) {
  TestTrace t;
  for (int rank = 0; rank < 2; ++rank) {
    const trace::ProcessId process = t.Process("rank" + std::to_string(rank), 0, 40'000'000);
    t.process(process).name = t.trace().strings.Intern("rank" + std::to_string(rank));
    const trace::TrackId thread = t.Thread(process);
    t.process(process).lead = thread;
    for (int64_t s = 0; s < 30; ++s) {
      const int64_t begin = 1'000'000 * s, learned = begin + 200'000 + learns[rank];
      t.Operation(thread, "act", begin, begin + 200'000);
      t.Operation(thread, "learn", begin + 200'000, learned);
      t.Operation(thread, "log", learned + 200'000, learned + 400'000);
      t.Span(thread, begin, begin + 999'000,
             t.Name("work", trace::Kind::kSpan, trace::Layer::kPython));
      t.Step(process, begin, learned + 400'000, 3);
    }
  }
  return t;
}

TEST(Comparison, IsAboutTheRankThatBecameSlower) {
  for (const int slower : {0, 1}) {
    Recording a(Ranks({200'000, 200'000}));
    Recording b(Ranks({slower == 0 ? 300'000 : 200'000, slower == 1 ? 300'000 : 200'000}));
    const Comparison c = CompareTwo(a, b);
    const std::string rank = "rank" + std::to_string(slower);
    EXPECT_EQ(c.Find("diff_steps")->texts("process")[0], rank);
    EXPECT_TRUE(c.answer.headline.starts_with(rank + ": ")) << c.answer.headline;
    EXPECT_NE(c.answer.headline.find("learn"), std::string::npos) << c.answer.headline;
  }
}

// The answer is about the one that changed most, which became faster.
TEST(Comparison, WhatBecameSlowerIsSoughtInAllProcessesThatTakeLong) {
  for (const int slower : {0, 1}) {
    const int64_t first = slower == 0 ? 300'000 : 50'000, second = slower == 1 ? 300'000 : 50'000;
    Recording a(Ranks({200'000, 200'000})), b(Ranks({first, second}));
    const Answer answer = CompareTwo(a, b).answer;
    EXPECT_TRUE(answer.headline.starts_with("rank" + std::to_string(1 - slower)));
    EXPECT_EQ(answer.slowest, "rank" + std::to_string(slower) + ": learn");
    EXPECT_GT(answer.slower, 0.3);
  }
}

TEST(Comparison, AProcessThatTakesLongAndIsNotComparedIsNamedWithTheReason) {
  for (const size_t other : {0u, 1u}) {
    const auto ranks = [&](const char* kind, uint8_t level) {
      TestTrace t = Ranks({200'000, 200'000});
      for (trace::Step& step : t.process({static_cast<uint32_t>(other)}).steps) {
        step.kind = t.trace().strings.Intern(kind);
        step.level = level;
      }
      return t;
    };
    const std::string name = "rank" + std::to_string(other);
    Recording usual(ranks("step", 3));
    for (const auto& [kind, level, why] :
         {std::tuple("game", uint8_t{3}, "A and B have no kind of step in common"),
          std::tuple("step", uint8_t{1}, "most of A's steps were recorded at level")}) {
      Recording odd(ranks(kind, level));
      const Comparison c = CompareTwo(usual, odd);
      const Answer& answer = c.answer;
      EXPECT_EQ(answer.result, Answer::Result::kSame) << answer.headline;
      EXPECT_TRUE(answer.left_out.starts_with(name + ": " + why)) << answer.left_out;
      EXPECT_NE(answer.headline.find(answer.left_out), std::string::npos) << answer.headline;
      const analyze::Table& steps = *c.Find("diff_steps");
      ASSERT_EQ(steps.rows(), 2u);
      EXPECT_EQ(steps.texts("process")[1], name);
      EXPECT_TRUE(steps.texts("why_not")[1].starts_with(why));
    }
    EXPECT_EQ(CompareTwo(usual, usual).answer.left_out, "");
  }
}

// Steps of two kinds: those of the second one, of which there are so many among 60, take so long.
TestTrace Kinds(int64_t evaluates_ns, int count = 30) {
  TestTrace t;
  const trace::ProcessId process = t.Process("p1", 0, 1'000'000'000);
  t.process(process).name = t.trace().strings.Intern("train.py");
  const trace::TrackId thread = t.Thread(process);
  t.process(process).lead = thread;
  const trace::NameId work = t.Name("work", trace::Kind::kSpan, trace::Layer::kPython);
  int64_t at = 0;
  const auto add = [&](const char* kind,
                       std::initializer_list<std::pair<const char*, int64_t>> of) {
    const int64_t begin = at;
    for (const auto& [operation, ns] : of) {
      t.Operation(thread, operation, at, at + ns);
      at += ns;
    }
    t.Span(thread, begin, at, work);
    t.Step(process, begin, at, 3);
    t.process(process).steps.back().kind = t.trace().strings.Intern(kind);
  };
  for (int s = 0; s < 60; ++s) {
    add("train", {{"load", 200'000}, {"learn", 300'000}, {"log", 100'000}});
    if (s < count) add("evaluate", {{"load", 200'000}, {"score", evaluates_ns}, {"log", 100'000}});
  }
  return t;
}

TEST(Comparison, IsAboutTheKindOfStepsThatBecameSlower) {
  Recording a(Kinds(200'000)), b(Kinds(300'000));
  const Comparison c = CompareTwo(a, b);
  EXPECT_TRUE(c.answer.headline.starts_with("train.py, evaluate: ")) << c.answer.headline;
  EXPECT_EQ(c.answer.slowest, "train.py, evaluate: score");
  EXPECT_GT(c.answer.slower, 0.3);
  const analyze::Table& steps = *c.Find("diff_steps");
  ASSERT_EQ(steps.rows(), 2U);
  EXPECT_EQ(steps.texts("kind")[0], "evaluate");
  EXPECT_EQ(steps.texts("kind")[1], "train");
  // Each kind's operations sum to its steps.
  const analyze::Table& operations = *c.Find("diff_step_operations");
  for (size_t kind = 0; kind < 2; ++kind) {
    int64_t sum = 0;
    for (size_t row = 0; row < operations.rows(); ++row) {
      const bool of_kind = operations.texts("kind")[row] == steps.texts("kind")[kind];
      sum += of_kind ? operations.integers("b_ns")[row] : 0;
    }
    EXPECT_EQ(sum, steps.integers("b_ns")[kind]);
  }
  EXPECT_EQ(CompareTwo(a, a).Find("diff_steps")->texts("kind")[0], "train") << "the one with most";
}

TEST(Comparison, AKindThatCannotBeComparedDoesNotKeepTheOthersFromIt) {
  Recording few(Kinds(200'000, 10)), none(Kinds(200'000, 0));
  const analyze::Table steps = *CompareTwo(few, few).Find("diff_steps");
  ASSERT_EQ(steps.rows(), 2U);
  EXPECT_EQ(steps.texts("why_not")[0], "");
  EXPECT_EQ(steps.texts("why_not")[1],
            "A has 10 steps that can be compared and needs 20; record more steps");
  EXPECT_EQ(CompareTwo(few, few).answer.why_not, "");
  const report::Document document = MakeDocument(CompareTwo(few, few), {});
  EXPECT_EQ(document.sections[1].heading, "Other steps");
  EXPECT_THAT(document.sections[1].after,
              ::testing::ElementsAre("train.py, evaluate is not compared: A has 10 steps that can "
                                     "be compared and needs 20; record more steps."));
  EXPECT_EQ(CompareTwo(few, none).Find("diff_steps")->rows(), 1U) << "B has none";
  EXPECT_EQ(CompareTwo(few, none).answer.headline.find("train.py"), std::string::npos);
}

TEST(Comparison, SaysWhichProcessASideLacks) {
  const auto named = [](const char* name) {
    TestTrace t = Kinds(200'000);
    const trace::ProcessId launcher = t.Process("p0", -1, 1'000'000'000);
    t.process(launcher).name = t.trace().strings.Intern("launch.py");
    t.process(trace::ProcessId{0}).parent = launcher;
    t.process(trace::ProcessId{0}).name = t.trace().strings.Intern(name);
    return Recording(std::move(t));
  };
  Recording a = named("actor"), b = named("learner");
  EXPECT_EQ(CompareTwo(a, b).answer.why_not, "B has no process like actor");
  EXPECT_EQ(CompareTwo(a, a).answer.why_not, "");
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
  here.trace().machine = "x, 2 processors";
  EXPECT_EQ(CompareTwo(here, there).answer.why_not, "");
  there.trace().machine = "y, 2 processors";
  EXPECT_EQ(
      CompareTwo(here, there).answer.why_not,
      "A ran on another processor (x, 2 processors) than B (y, 2 processors); compare runs of "
      "one machine");
}

// Of each name the sum over the tables of one side's runs.
std::map<std::string, int64_t> SumsOf(const std::vector<compare::Run>& runs, const char* column) {
  std::map<std::string, int64_t> out;
  for (const compare::Run& run : runs) {
    const auto table = analyze::ComputeTable(*run.trace, *run.context, "functions");
    for (size_t row = 0; row < table->rows(); ++row) {
      out[table->texts("layer")[row] + " " + table->texts("name")[row]] +=
          table->integers(column)[row];
    }
  }
  return out;
}

TEST(Comparison, FiguresOfSeveralRunsAreTheirAverage) {
  size_t rows = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    std::vector<Recording> made;
    made.reserve(5);
    for (uint64_t i = 0; i < 5; ++i) made.emplace_back(RandomTrace(10 * seed + i));
    const std::vector<compare::Run> a = {made[0].run(), made[1].run()};
    const std::vector<compare::Run> b = {made[2].run(), made[3].run(), made[4].run()};
    const Comparison c = Compare({a, b});
    const analyze::Table& got = *c.Find("diff_functions");
    for (const char* column : {"count", "self_ns", "total_ns"}) {
      const auto sums_a = SumsOf(a, column), sums_b = SumsOf(b, column);
      const auto average = [](const auto& sums, const std::string& key, int64_t runs) {
        const auto found = sums.find(key);
        return found == sums.end() ? 0 : (2 * found->second + runs) / (2 * runs);
      };
      for (size_t row = 0; row < got.rows(); ++row, ++rows) {
        const std::string key = got.texts("layer")[row] + " " + got.texts("name")[row];
        EXPECT_EQ(got.integers(std::string("a_") + column)[row], average(sums_a, key, 2)) << key;
        EXPECT_EQ(got.integers(std::string("b_") + column)[row], average(sums_b, key, 3)) << key;
      }
    }
  }
  EXPECT_GT(rows, 500);
}

// Of copies a trace may not say how many bytes they have.
TEST(Comparison, WhatOneSideDoesNotKnowDidNotChange) {
  const std::string copy =
      "process p window=0..100\nthread main tid=1 main\ndevice gpu device=0\n"
      "span Memcpy 10 20 device\n";
  const Recording unknown(copy), known(copy + "arg bytes 4096\n");
  const auto bytes = [](const Recording& a, const Recording& b, const char* column) {
    return CompareTwo(a, b).Find("diff_copies")->integers(column)[0];
  };
  EXPECT_EQ(bytes(unknown, known, "a_bytes"), analyze::kMissing);
  EXPECT_EQ(bytes(unknown, known, "b_bytes"), 4096);
  EXPECT_EQ(bytes(unknown, known, "change_bytes"), analyze::kMissing);
  EXPECT_EQ(bytes(known, known, "change_bytes"), 0);
}

// A process whose steps have as many operators as told.
TestTrace Counted(const std::vector<int>& operators) {
  TestTrace t;
  const trace::ProcessId process =
      t.Process("p1", 0, static_cast<int64_t>(1000 * operators.size()));
  const trace::TrackId thread = t.Thread(process);
  t.process(process).lead = thread;
  const trace::NameId name = t.Name("mul", trace::Kind::kSpan, trace::Layer::kFramework);
  for (size_t s = 0; s < operators.size(); ++s) {
    const int64_t begin = static_cast<int64_t>(1000 * s);
    t.Step(process, begin, begin + 1000, 2);
    for (int i = 0; i < operators[s]; ++i) {
      t.Span(thread, begin + 10 * i, begin + 10 * i + 5, name);
    }
  }
  return t;
}

TEST(Comparison, CountsWhatEachStepHasAndTellsAChangeWhereRangesDoNotTouch) {
  std::mt19937_64 random(3);
  int changed = 0;
  for (int round = 0; round < 200; ++round) {
    const auto draw = [&](int least) {
      std::vector<int> out(20 + random() % 9);
      for (int& count : out) count = least + static_cast<int>(random() % 6);
      return out;
    };
    const std::vector<int> in_a = draw(static_cast<int>(random() % 12)),
                           in_b = draw(static_cast<int>(random() % 12));
    Recording a(Counted(in_a)), b(Counted(in_b));
    const Comparison c = CompareTwo(a, b);
    for (const char* name : {"diff_step_counts", "diff_step_names"}) {
      const analyze::Table& table = *c.Find(name);
      ASSERT_EQ(table.rows(), 1);
      const auto cell = [&](const char* column) { return table.integers(column)[0]; };
      const auto [low_a, high_a] = std::minmax_element(in_a.begin(), in_a.end());
      const auto [low_b, high_b] = std::minmax_element(in_b.begin(), in_b.end());
      EXPECT_EQ(cell("a_low"), *low_a);
      EXPECT_EQ(cell("a_high"), *high_a);
      EXPECT_EQ(cell("b_low"), *low_b);
      EXPECT_EQ(cell("b_high"), *high_b);
      EXPECT_EQ(cell("a_steps"), static_cast<int64_t>(in_a.size()));
      EXPECT_EQ(cell("a_count"), std::accumulate(in_a.begin(), in_a.end(), 0));
      EXPECT_EQ(cell("b_count"), std::accumulate(in_b.begin(), in_b.end(), 0));
      EXPECT_EQ(cell("changed"), *high_a < *low_b || *high_b < *low_a);
      changed += static_cast<int>(cell("changed"));
    }
  }
  EXPECT_GT(changed, 20);
  EXPECT_LT(changed, 380);
}

// Whatever the order of the runs, and in which of them no step has any.
TEST(Comparison, CountsOfSeveralRunsAreThoseOfAllTheirSteps) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 100; ++round) {
    std::vector<Recording> made;
    std::vector<std::vector<int>> sides(2);
    made.reserve(6);
    for (std::vector<int>& side : sides) {
      for (int run = 0; run < 3; ++run) {
        std::vector<int> counts(20 + random() % 9);
        const int least = static_cast<int>(random() % 12), none = static_cast<int>(random() % 3);
        for (int& count : counts) count = none == 0 ? 0 : least + static_cast<int>(random() % 6);
        if (run == 0) counts[random() % counts.size()] = 7;  // so that there is some
        side.insert(side.end(), counts.begin(), counts.end());
        made.emplace_back(Counted(counts));
      }
    }
    std::vector<compare::Run> runs;
    for (Recording& one : made) runs.push_back(one.run());
    std::shuffle(runs.begin(), runs.begin() + 3, random);
    std::shuffle(runs.begin() + 3, runs.end(), random);
    const Comparison c = Compare({{runs.data(), 3}, {runs.data() + 3, 3}});
    for (const char* name : {"diff_step_counts", "diff_step_names"}) {
      const analyze::Table& table = *c.Find(name);
      ASSERT_EQ(table.rows(), 1);
      for (const size_t s : {0, 1}) {
        const std::vector<int>& in = sides[s];
        const auto [low, high] = std::minmax_element(in.begin(), in.end());
        const int sum = std::accumulate(in.begin(), in.end(), 0);
        const auto cell = [&](const char* of) {
          return table.integers(std::string(s == 0 ? "a_" : "b_") + of)[0];
        };
        EXPECT_EQ(cell("low"), *low);
        EXPECT_EQ(cell("high"), *high);
        EXPECT_EQ(cell("count"), sum);
        EXPECT_EQ(cell("steps"), static_cast<int64_t>(in.size()));
      }
    }
  }
}

// Steps of the level that shows most tell, where there are three of them.
TEST(Comparison, CountsInStepsOfTheHighestLevelThatHasEnough) {
  const auto counted = [](size_t complete) {
    TestTrace t = Counted(std::vector<int>(30, 2));
    auto& steps = t.process(trace::ProcessId{0}).steps;
    for (size_t s = 0; s < complete; ++s) steps[s].level = 3;
    return t;
  };
  Recording enough(counted(3)), few(counted(2));
  const auto steps = [](const Comparison& c, const char* column) {
    return c.Find("diff_step_counts")->integers(column)[0];
  };
  EXPECT_EQ(steps(CompareTwo(enough, enough), "a_steps"), 3);
  EXPECT_EQ(steps(CompareTwo(few, few), "a_steps"), 28);
  EXPECT_EQ(steps(CompareTwo(enough, few), "a_steps"), 27);
  EXPECT_EQ(steps(CompareTwo(enough, few), "b_steps"), 28);
}

// Of one program, once with its operations and once as a file has it that states none.
TEST(Comparison, ComparesStepsAsAWholeWhereOneSideStatesNoOperations) {
  const auto recorded = [](bool operations) {
    TestTrace t;
    const trace::ProcessId process = t.Process("p1", 0, 1000 * 40);
    const trace::TrackId thread = t.Thread(process);
    t.process(process).lead = thread;
    const trace::Kind kind = operations ? trace::Kind::kOperation : trace::Kind::kSpan;
    const trace::NameId name = t.Name("forward", kind, trace::Layer::kNone);
    for (int64_t step = 0; step < 40; ++step) {
      t.Step(process, 1000 * step, 1000 * step + 1000, 2);
      t.Span(thread, 1000 * step + 100, 1000 * step + 900, name);
    }
    return Recording(std::move(t));
  };
  Recording with = recorded(true), without = recorded(false);
  for (const auto& c : {CompareTwo(with, without), CompareTwo(without, with)}) {
    EXPECT_EQ(c.answer.result, Answer::Result::kSame) << c.answer.headline;
    EXPECT_EQ(c.answer.headline.find("differs"), std::string::npos) << c.answer.headline;
    EXPECT_EQ(c.Find("diff_step_operations")->rows(), 1u);
    ASSERT_FALSE(c.differences.empty());
    EXPECT_NE(c.differences.back().find("as a whole"), std::string::npos);
  }
  EXPECT_EQ(CompareTwo(with, with).Find("diff_step_operations")->rows(), 2u);
}

TEST(Comparison, NeedsTwentyStepsAndNotOneMore) {
  Recording enough(Counted(std::vector<int>(20, 1))), few(Counted(std::vector<int>(19, 1)));
  EXPECT_EQ(CompareTwo(enough, enough).answer.why_not, "");
  EXPECT_EQ(CompareTwo(enough, few).answer.why_not,
            "B has 19 steps that can be compared and needs 20; record more steps");
}

}  // namespace
}  // namespace crosscut::compare
