// Operations that B has under another name, and lines that changed.
#include "src/compare/renames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/compare/comparison.h"
#include "src/compare/document.h"
#include "src/compare/test_recording.h"

namespace crosscut::compare {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

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
std::string Text(const std::vector<Operation>& operations, int64_t of_startup = 0) {
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
  return text;
}

Recording Loop(const std::vector<Operation>& operations, int64_t of_startup = 0) {
  return Recording(Text(operations, of_startup));
}

TEST(Renames, AreAskedAboutWhereTimeAndLayersAreAlike) {
  const Comparison c =
      CompareTwo(Loop({{"load", 400, "native", ""}}), Loop({{"read", 420, "native", ""}}));
  EXPECT_THAT(c.answer.headline, HasSubstr("Renamed? A's load (400.0 µs a step) may be B's read"));
  const analyze::Table& operations = *c.Find("diff_step_operations");
  EXPECT_THAT(operations.texts("operation"), ElementsAre("load", "log", "model", "read", "update"));
  EXPECT_THAT(operations.texts("maybe_renamed"), ElementsAre("read", "", "", "load", ""));
}

TEST(Renames, AreNotWhereTimeOrLayersDiffer) {
  const Recording load = Loop({{"load", 400, "native", ""}});
  for (const Operation& other :
       {Operation{"read", 520, "native", ""}, Operation{"read", 400, "simulator", ""}}) {
    const Comparison c = CompareTwo(load, Loop({other}));
    EXPECT_THAT(c.answer.headline, Not(HasSubstr("Renamed?"))) << other.us << other.layer;
    EXPECT_THAT(c.Find("diff_step_operations")->texts("maybe_renamed"), Not(Contains("read")));
  }
}

struct Part {
  std::string operation;
  analyze::LayerSet layers;
  double ns;
};

// "a>b" for each rename, of steps of these parts (by run) that take so long in A and in B.
std::string Renamed(const Both<std::vector<std::vector<Part>>>& parts, double step_a = 100,
                    double step_b = 100) {
  Both<std::vector<RunSteps>> runs;
  Both<std::vector<Undisturbed>> undisturbed;
  std::map<std::string, OperationChange> changes;
  const auto take = [&](const std::vector<std::vector<Part>>& side, double Change::*figure,
                        std::vector<RunSteps>* steps, std::vector<Undisturbed>* of) {
    for (const std::vector<Part>& run : side) {
      steps->emplace_back();
      of->emplace_back();
      for (const Part& part : run) {
        steps->back().keys.push_back({part.operation, part.layers});
        of->back().by_key.push_back(part.ns);
        changes[part.operation].operation = part.operation;
        changes[part.operation].own.*figure += part.ns;
      }
    }
  };
  take(parts.a, &Change::a, &runs.a, &undisturbed.a);
  take(parts.b, &Change::b, &runs.b, &undisturbed.b);
  StepChange change;
  change.step.a = step_a;
  change.step.b = step_b;
  for (const auto& [name, of] : changes) change.operations.push_back(of);
  std::string out;
  for (const Rename& rename : RenamesOf(change, runs, undisturbed)) {
    out += (out.empty() ? "" : " ") + rename.a + ">" + rename.b;
    EXPECT_EQ(rename.a_ns, changes[rename.a].own.a);
    EXPECT_EQ(rename.b_ns, changes[rename.b].own.b);
  }
  return out;
}
std::string Renamed(const std::vector<Part>& a, const std::vector<Part>& b, double step_a = 100,
                    double step_b = 100) {
  return Renamed({{a}, {b}}, step_a, step_b);
}

// Few nanoseconds, of which each one tells.
TEST(Renames, HaveTheirBoundsInTimeInLayersAndInTheirPartOfAStep) {
  EXPECT_EQ(Renamed({{"old", 1, 10}}, {{"new", 1, 10}}), "old>new");
  EXPECT_EQ(Renamed({{"old", 1, 10}}, {{"new", 1, 11.4}}), "old>new");
  EXPECT_EQ(Renamed({{"old", 1, 11.4}}, {{"new", 1, 10}}), "old>new");
  EXPECT_EQ(Renamed({{"old", 1, 10}}, {{"new", 1, 11.6}}), "");
  EXPECT_EQ(Renamed({{"old", 1, 11.6}}, {{"new", 1, 10}}), "");
  // By the share of its time that lies in other layers.
  EXPECT_EQ(Renamed({{"old", 1, 8.6}, {"old", 2, 1.4}}, {{"new", 1, 10}}), "old>new");
  EXPECT_EQ(Renamed({{"old", 1, 8.4}, {"old", 2, 1.6}}, {{"new", 1, 10}}), "");
  EXPECT_EQ(Renamed({{"old", 1, 10}}, {{"new", 1, 8.6}, {"new", 3, 1.4}}), "old>new");
  EXPECT_EQ(Renamed({{"old", 1, 10}}, {{"new", 1, 8.4}, {"new", 3, 1.6}}), "");
  EXPECT_EQ(Renamed({{"old", 1, 5}, {"old", 2, 5}}, {{"new", 1, 6.4}, {"new", 2, 3.6}}), "old>new");
  EXPECT_EQ(Renamed({{"old", 1, 5}, {"old", 2, 5}}, {{"new", 1, 6.6}, {"new", 2, 3.4}}), "");
  // 2 % of the shorter step at least.
  EXPECT_EQ(Renamed({{"old", 1, 10}}, {{"new", 1, 10}}, 500, 5000), "old>new");
  EXPECT_EQ(Renamed({{"old", 1, 10}}, {{"new", 1, 10}}, 5000, 500), "old>new");
  EXPECT_EQ(Renamed({{"old", 1, 10}}, {{"new", 1, 9.9}}, 500, 500), "");
  EXPECT_EQ(Renamed({{"old", 1, 9.9}}, {{"new", 1, 10}}, 500, 500), "");
}

TEST(Renames, AreOfOperationsThatOneSideHasAlone) {
  EXPECT_EQ(Renamed({{"old", 1, 10}, {"new", 1, 1}}, {{"new", 1, 10}}), "");
  EXPECT_EQ(Renamed({{"old", 1, 10}}, {{"new", 1, 10}, {"old", 1, 1}}), "");
  EXPECT_EQ(Renamed({{"", 1, 10}}, {{"new", 1, 10}}), "");
  EXPECT_EQ(Renamed({{"old", 1, 10}}, {{"", 1, 10}}), "");
  // The most alike first, and each once.
  EXPECT_EQ(Renamed({{"a", 1, 10}, {"b", 1, 10.5}}, {{"c", 1, 10.4}, {"d", 1, 10}}), "a>d b>c");
  EXPECT_EQ(Renamed({{"a", 1, 10}, {"b", 1, 10.5}}, {{"c", 1, 10.4}}), "b>c");
  EXPECT_EQ(Renamed({{"b", 1, 10.5}}, {{"c", 1, 10.4}, {"d", 1, 10}}), "b>c");
  // Of all runs of a side together; below 0 is nothing.
  EXPECT_EQ(Renamed({{{{"old", 1, 5}}, {{"old", 2, 5}}}, {{{"new", 1, 5}, {"new", 2, 5}}}}),
            "old>new");
  EXPECT_EQ(Renamed({{"old", 1, 10.4}, {"old", 2, -0.4}}, {{"new", 1, 10}}), "old>new");
  EXPECT_EQ(Renamed({{"old", 1, -10}}, {{"new", 1, -10}}, 0, 0), "");
}

TEST(Renames, EachOperationIsOneAtMost) {
  const Comparison c =
      CompareTwo(Loop({{"load", 400, "native", ""}}),
                 Loop({{"read", 440, "native", ""}, {"fetch", 402, "native", ""}}));
  EXPECT_THAT(c.answer.headline, HasSubstr("may be B's fetch"));
  EXPECT_THAT(c.answer.headline, Not(HasSubstr("B's read")));
}

TEST(StepLines, TheLineThatChangedIsNamedInWords) {
  const Comparison c = CompareTwo(Loop({{"data", 400, "python", "\"loop.py:9 burn\""}}),
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

TEST(StepLines, ALineThatMovedIsNamedWithItsPlaceInAAndItsOwnChange) {
  const Comparison c = CompareTwo(Loop({{"data", 400, "python", "\"loop.py:9 burn\""}}),
                                  Loop({{"data", 520, "python", "\"loop.py:12 burn\""}}));
  const analyze::Table& lines = *c.Find("diff_step_lines");
  ASSERT_EQ(lines.rows(), 1U);
  EXPECT_EQ(lines.texts("line")[0], "loop.py:12 burn");
  EXPECT_EQ(lines.texts("a_line")[0], "loop.py:9 burn");
  EXPECT_EQ(lines.integers("change_ns")[0], 120'000);
  EXPECT_THAT(MakeDocument(c, {}).sections.front().after,
              Contains(HasSubstr("In data: loop.py:12 burn (A: loop.py:9 burn), +120.0 µs")));
}

// An operation that no sample met on one side may have had any line there.
TEST(StepLines, NothingIsToldOfAnOperationThatNoSampleMetOnASide) {
  const Comparison c =
      CompareTwo(Loop({{"data", 400, "python", ""}, {"act", 400, "python", "\"loop.py:20 act\""}}),
                 Loop({{"data", 800, "python", "\"loop.py:9 burn\""},
                       {"act", 400, "python", "\"loop.py:20 act\""}}));
  EXPECT_THAT(c.Find("diff_step_lines")->texts("line"), ElementsAre("loop.py:20 act"));
}

// What lies outside of operations is start-up, too.
TEST(StepLines, SamplesBesideTheComparedStepsSayNothingOfThem) {
  const std::vector<Operation> work = {{"", 400, "python", "\"loop.py:9 work\""}};
  const Comparison c = CompareTwo(Loop(work), Loop(work, 200));
  const analyze::Table& lines = *c.Find("diff_step_lines");
  EXPECT_THAT(lines.texts("line"), ElementsAre("loop.py:9 work"));
  EXPECT_EQ(lines.integers("change_ns")[0], 0);
}

TEST(StepLines, WhereOneSideHasNoOperationsLinesAreOfTheWholeStep) {
  std::string text = Text({{"data", 400, "python", "\"loop.py:9 work\""}}), plain;
  for (size_t at = 0, end; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    if (!text.substr(at, end - at).starts_with("op ")) plain += text.substr(at, end + 1 - at);
  }
  const Comparison c = CompareTwo(Recording(text), Recording(plain));
  ASSERT_EQ(c.Find("diff_steps")->rows(), 1U);
  const analyze::Table& lines = *c.Find("diff_step_lines");
  ASSERT_EQ(lines.rows(), 1U);
  EXPECT_EQ(lines.integers("a_samples")[0], lines.integers("b_samples")[0]);
  EXPECT_EQ(lines.integers("a_ns")[0], c.Find("diff_steps")->integers("a_ns")[0]);
}

}  // namespace
}  // namespace crosscut::compare
