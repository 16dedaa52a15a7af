#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "src/analyze/testing/test_trace.h"
#include "src/analyze/verdict/tables.h"

namespace crosscut::analyze {
namespace {

// 300 steps with an operation that takes extra(step) of each, whose level is told likewise.
std::string Steps(
    const std::function<int64_t(int)>& extra,
    const std::function<std::string(int)>& level = [](int) { return ""; }) {
  std::mt19937 random(5);
  std::string text = "process train pid=7 window=0..1000000\nthread main tid=7 main lead\n";
  int64_t at = 0;
  for (int step = 0; step < 300; ++step) {
    const auto usual = static_cast<int64_t>(100 + random() % 9);
    const int64_t until = at + usual + extra(step);
    text += "step step " + std::to_string(at) + " " + std::to_string(until) +
            " number=" + std::to_string(step) + level(step) + "\n";
    text += "op train " + std::to_string(at) + " " + std::to_string(at + usual) + "\n";
    if (extra(step) > 0)
      text += "op save " + std::to_string(at + usual) + " " + std::to_string(until) + "\n";
    at = until;
  }
  return text;
}

// shape, first_step, last_step, spells, operation.
std::string Found(const std::string& text) {
  std::string out;
  const trace::Trace trace = testing::Parse(text);
  const Table table = testing::Compute(trace, "step_changes");
  for (size_t row = 0; row < table.rows(); ++row) {
    out += table.texts("shape")[row];
    for (const char* name : {"first_step", "last_step", "spells"})
      out += " " + std::to_string(table.integers(name)[row]);
    out += " " + table.texts("operation")[row] + ";";
  }
  return out;
}

TEST(StepChanges, NameWhereTheyAreAndWhatIsMore) {
  EXPECT_EQ(Found(Steps([](int) { return 0; })), "");
  EXPECT_EQ(Found(Steps([](int s) { return s < 170 ? 0 : 50; })), "begins 170 299 1 save;");
  EXPECT_EQ(Found(Steps([](int s) { return s < 120 ? 50 : 0; })), "ends 0 119 1 save;");
  EXPECT_EQ(Found(Steps([](int s) { return s >= 90 && s < 160 ? 50 : 0; })),
            "spell 90 159 1 save;");
  EXPECT_EQ(Found(Steps([](int s) { return s / 50 % 2 == 0 ? 0 : 50; })),
            "alternates 50 299 3 save;");
  EXPECT_EQ(Found(Steps([](int s) { return s / 3; })), "grows 0 299 1 save;");
  EXPECT_EQ(Found(Steps([](int s) { return (299 - s) / 3; })), "shrinks 0 299 1 save;");
}

TEST(StepChanges, TakeNeitherWarmUpNorLevelsNorControlStepsForOnes) {
  EXPECT_EQ(Found(Steps([](int s) { return s < 40 ? 500 : 0; })), "");
  // The plan leaves ever more out, or records another level behind the middle.
  const auto level = [](int name) {
    return [name](int s) { return s < 140 ? std::string() : " level=" + std::to_string(name); };
  };
  for (const int name : {0, 1, 2, 4})
    EXPECT_EQ(Found(Steps([](int s) { return s < 140 ? 50 : 0; }, level(name))), "") << name;
}

TEST(StepChanges, SpeakWhereTheyMatter) {
  const trace::Trace trace = testing::Parse(Steps([](int s) { return s < 170 ? 0 : 50; }));
  const Table table = testing::Compute(trace, "findings");
  ASSERT_EQ(table.rows(), 1u);
  EXPECT_EQ(table.texts("message")[0],
            "From step 170 on steps take 1.47 times as long, 154 ns instead of 105 ns. Most of the "
            "difference is in save.");
  EXPECT_EQ(table.texts("table")[0], "step_changes");
}

// The first of three operations has two fifths of what steps are longer.
TEST(StepChanges, MostOfTheDifferenceIsHalfOfIt) {
  std::string text = "process train pid=7 window=0..1000000\nthread main tid=7 main lead\n";
  int64_t at = 0;
  for (int step = 0; step < 300; ++step) {
    const int64_t begin = at;
    std::string inside;
    const auto op = [&](const char* name, int64_t ns) {
      inside += "op " + std::string(name) + " " + std::to_string(at) + " " +
                std::to_string(at + ns) + "\n";
      at += ns;
    };
    op("train", 100 + step % 3);
    if (step >= 170) op("save", 40), op("log", 30), op("plot", 30);
    text += "step step " + std::to_string(begin) + " " + std::to_string(at) +
            " number=" + std::to_string(step) + "\n" + inside;
  }
  const Table table = testing::Compute(testing::Parse(text), "findings");
  ASSERT_EQ(table.rows(), 1u);
  EXPECT_TRUE(table.texts("message")[0].ends_with(
      "201 ns instead of 101 ns. A third or more of the difference is in save."))
      << table.texts("message")[0];
}

// 60 steps, from the 30th on 40 ns longer, in which the lead waits at main.py:2 in that call,
// while a child is at load.py:1, or from there on at load.py:9.
std::string WaitingFor(const std::string& layer, bool child_works,
                       const std::string& call = "os.read") {
  std::string lead = "process train pid=7 window=0..10000\nthread main tid=7 main lead\n";
  std::string child =
      "process loader pid=8 parent=train window=0..10000\nthread main tid=8 "
      "base=" +
      std::string(child_works ? "python" : "idle") + " main lead\n";
  const auto sample = [](int64_t at, const std::string& line, const std::string& waits) {
    return "instant [sample] " + std::to_string(at) + "\narg covers_ns 20\narg \"Own line\" \"" +
           line + "\"\narg \"Python stack\" \"" + line + "\"\n" + waits;
  };
  int64_t at = 0;
  for (int step = 0; step < 60; ++step) {
    const int64_t waits = step < 30 ? 10 : 50, until = at + 60 + waits;
    lead += "step step " + std::to_string(at) + " " + std::to_string(until) +
            " number=" + std::to_string(step) + "\n";
    lead += "span aten::mm " + std::to_string(at) + " " + std::to_string(at + 60) + " framework\n";
    lead += sample(at + 30, "main.py:1 main", "");
    lead += "span " + call + " " + std::to_string(at + 60) + " " + std::to_string(until) + " " +
            layer + "\n" + sample(until - 5, "main.py:2 main", "arg \"Waits for\" read\n");
    for (int64_t when = at + 5; child_works && when < until; when += 20) {
      child += sample(when, step < 30 ? "load.py:1 item" : "load.py:9 item", "");
    }
    at = until;
  }
  const Table table = testing::Compute(testing::Parse(lead + child), "step_changes");
  return table.rows() == 1 ? table.texts("shape")[0] + " " + table.texts("line")[0] : "?";
}

TEST(StepChanges, NameTheLineOfWhomTheStepsWaitFor) {
  EXPECT_EQ(WaitingFor("idle", true), "begins load.py:9 item");
  EXPECT_EQ(WaitingFor("idle", false), "begins main.py:2 main") << "nobody works meanwhile";
  EXPECT_EQ(WaitingFor("native", true), "begins main.py:2 main") << "it works itself";
  EXPECT_EQ(WaitingFor("idle", true, "time.sleep"), "begins main.py:2 main") << "it means to";
}

}  // namespace
}  // namespace crosscut::analyze
