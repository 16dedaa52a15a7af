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
  explicit Recording(const std::string& of)
      : text(of),
        trace(std::move(*trace::ParseText(text))),
        context(std::make_unique<analyze::Context>(trace)) {}
  Run run() const { return {&trace, context.get()}; }
  std::string text;
  trace::Trace trace;
  std::unique_ptr<analyze::Context> context;
};

struct Operation {
  std::string name;
  int64_t us;
  std::string layer, line;
};

std::string SampleAt(int64_t at, const std::string& line) {
  return "instant [sample] " + std::to_string(at) + "\narg covers_ns 1000\narg \"Own line\" " +
         line + "\narg Line " + line + "\n";
}

// A loop of 40 steps; three further operations tell its pace. An operation "" is none. So many
// samples see `startup.py` before.
Recording Loop(const std::vector<Operation>& operations, int64_t of_startup = 0) {
  std::string text =
      "process p pid=7 window=0..1000000000 name=train.py\nthread main tid=7 main lead\n";
  for (int64_t i = 0; i < of_startup; ++i) text += SampleAt(i, "\"startup.py:1 <module>\"");
  int64_t at = 1000;
  for (int step = 0; step < 40; ++step) {
    const int64_t begin = at;
    std::string inside;
    std::vector<Operation> all = {
        {"model", 500, "framework", ""}, {"update", 300, "python", ""}, {"log", 100, "python", ""}};
    all.insert(all.end(), operations.begin(), operations.end());
    for (const Operation& o : all) {
      const int64_t begin_of = at;
      at += 1000 * o.us + step % 5;
      const std::string range = std::to_string(begin_of) + " " + std::to_string(at);
      if (!o.name.empty()) inside += "op " + o.name + " " + range + "\n";
      inside += "span f " + range + " " + o.layer + "\n";
      if (!o.line.empty()) inside += SampleAt(begin_of, o.line);
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

// What lies outside of operations is start-up, too.
TEST(StepLines, SamplesBesideTheComparedStepsSayNothingOfThem) {
  const std::vector<Operation> work = {{"", 400, "python", "\"loop.py:9 work\""}};
  const Comparison c = CompareLoops(Loop(work), Loop(work, 200));
  const analyze::Table& lines = *c.Find("diff_step_lines");
  EXPECT_THAT(lines.texts("line"), ElementsAre("loop.py:9 work"));
  EXPECT_EQ(lines.integers("change_ns")[0], 0);
}

TEST(StepLines, WhereOneSideHasNoOperationsLinesAreOfTheWholeStep) {
  std::string text = Loop({{"data", 400, "python", "\"loop.py:9 work\""}}).text, plain;
  for (size_t at = 0, end; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    if (!text.substr(at, end - at).starts_with("op ")) plain += text.substr(at, end + 1 - at);
  }
  const Comparison c = CompareLoops(Recording(text), Recording(plain));
  ASSERT_EQ(c.Find("diff_steps")->rows(), 1U);
  const analyze::Table& lines = *c.Find("diff_step_lines");
  ASSERT_EQ(lines.rows(), 1U);
  EXPECT_EQ(lines.integers("a_samples")[0], lines.integers("b_samples")[0]);
  EXPECT_EQ(lines.integers("a_ns")[0], c.Find("diff_steps")->integers("a_ns")[0]);
}

}  // namespace
}  // namespace crosscut::compare
