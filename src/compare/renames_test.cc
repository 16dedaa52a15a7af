// Operations that B has under another name, and lines that changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "src/compare/comparison.h"
#include "src/compare/document.h"
#include "src/trace/text.h"

namespace crosscut::compare {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Recording {
  explicit Recording(const std::string& text)
      : trace(std::move(*trace::ParseText(text))),
        context(std::make_unique<analyze::Context>(trace)) {}
  Run run() const { return {&trace, context.get()}; }
  trace::Trace trace;
  std::unique_ptr<analyze::Context> context;
};

struct Operation {
  std::string name;
  int64_t us;
  std::string layer, line;
};

// A loop of 40 steps; three further operations tell its pace.
Recording Loop(const std::vector<Operation>& operations) {
  std::string text =
      "process p pid=7 window=0..1000000000 name=train.py\nthread main tid=7 main lead\n";
  int64_t at = 1000;
  for (int step = 0; step < 40; ++step) {
    const int64_t begin = at;
    std::string inside;
    std::vector<Operation> all = {
        {"model", 500, "framework", ""}, {"update", 300, "python", ""}, {"log", 100, "python", ""}};
    all.insert(all.end(), operations.begin(), operations.end());
    for (const Operation& o : all) {
      const std::string from = std::to_string(at);
      at += 1000 * o.us + step % 5;
      const std::string range = from + " " + std::to_string(at);
      inside += "op " + o.name + " " + range + "\nspan f " + range + " " + o.layer + "\n";
      if (o.line.empty()) continue;
      inside += "instant [sample] " + from + "\narg covers_ns 1000\narg \"Own line\" " + o.line +
                "\narg Line " + o.line + "\n";
    }
    text += "step step " + std::to_string(begin) + " " + std::to_string(at) + "\n" + inside;
    at += 1000;
  }
  return Recording(text);
}

Comparison CompareLoops(const Recording& a, const Recording& b) {
  const Run runs[] = {a.run(), b.run()};
  return Compare({{runs, 1}, {runs + 1, 1}});
}

TEST(Renames, AreAskedAboutWhereTimeAndLayersAreAlike) {
  const Comparison c =
      CompareLoops(Loop({{"load", 400, "native", ""}}), Loop({{"read", 420, "native", ""}}));
  EXPECT_THAT(c.answer.headline, HasSubstr("Renamed? A's load (400.0 µs a step) may be B's read"));
  const analyze::Table& operations = *c.Find("diff_step_operations");
  EXPECT_THAT(operations.texts("operation"), ElementsAre("load", "log", "model", "read", "update"));
  EXPECT_THAT(operations.texts("maybe_renamed"), ElementsAre("read", "", "", "load", ""));
}

TEST(Renames, AreNotWhereTimeOrLayersDiffer) {
  const Recording load = Loop({{"load", 400, "native", ""}});
  for (const Operation& other :
       {Operation{"read", 520, "native", ""}, Operation{"read", 400, "simulator", ""}}) {
    const Comparison c = CompareLoops(load, Loop({other}));
    EXPECT_THAT(c.answer.headline, Not(HasSubstr("Renamed?"))) << other.us << other.layer;
    EXPECT_THAT(c.Find("diff_step_operations")->texts("maybe_renamed"), Not(Contains("read")));
  }
}

TEST(Renames, EachOperationIsOneAtMost) {
  const Comparison c =
      CompareLoops(Loop({{"load", 400, "native", ""}}),
                   Loop({{"read", 440, "native", ""}, {"fetch", 402, "native", ""}}));
  EXPECT_THAT(c.answer.headline, HasSubstr("may be B's fetch"));
  EXPECT_THAT(c.answer.headline, Not(HasSubstr("B's read")));
}

TEST(StepLines, TheLineThatChangedIsNamedInWords) {
  const Comparison c = CompareLoops(Loop({{"data", 400, "python", "\"loop.py:9 burn\""}}),
                                    Loop({{"data", 800, "python", "\"loop.py:9 burn\""}}));
  const analyze::Table& lines = *c.Find("diff_step_lines");
  ASSERT_EQ(lines.rows(), 1U);
  EXPECT_EQ(lines.texts("line")[0], "loop.py:9 burn");
  EXPECT_EQ(lines.integers("a_samples")[0], 40);
  EXPECT_EQ(lines.integers("change_ns")[0], 400'000);
  EXPECT_GT(lines.integers("low_ns")[0], 0);
  const report::Document document = MakeDocument(c, {});
  EXPECT_THAT(document.sections.front().after,
              Contains(HasSubstr("In data: loop.py:9 burn, +400.0 µs of the mean step (")));
}

}  // namespace
}  // namespace crosscut::compare
