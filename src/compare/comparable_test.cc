// Why runs cannot be compared: each reason, and each bound from both sides.
#include "src/compare/comparable.h"

#include <gtest/gtest.h>

#include "src/analyze/columns.h"
#include "src/trace/text.h"

namespace crosscut::compare {
namespace {

RunSteps StepsAt(size_t count, uint8_t level = 2) {
  RunSteps run;
  run.level = level;
  run.steps.resize(count);
  return run;
}

TEST(Comparable, EachRunNeedsStepsAndAllTheSameLevel) {
  using Runs = std::vector<RunSteps>;
  const auto why = [](const Runs& a, const Runs& b) { return WhyNotCompared(Both<Runs>{a, b}); };
  const Runs good = {StepsAt(20)};
  EXPECT_EQ(why(good, good), "");
  EXPECT_EQ(why(good, {StepsAt(0)}),
            "B has no steps to compare; crosscut.step() at the begin of each pass of the main loop "
            "marks them");
  EXPECT_EQ(why({StepsAt(1)}, good),
            "A has 1 step that can be compared and needs 20; record more steps");
  EXPECT_EQ(why(good, {StepsAt(20), StepsAt(19)}),
            "B's run 2 has 19 steps that can be compared and needs 20; record more steps");
  EXPECT_EQ(why({StepsAt(5), StepsAt(0)}, {StepsAt(3)}),
            "A's run 1 has 5 steps that can be compared and needs 20; record more steps");
  EXPECT_EQ(why({StepsAt(20, 2), StepsAt(20, 3)}, {StepsAt(20, 2), StepsAt(20, 3)}),
            "most of A's steps were recorded at level everything, operators and most of B's at "
            "everything, operators; record all runs with the same --plan");
  EXPECT_EQ(why(good, {StepsAt(20, 1)}),
            "most of A's steps were recorded at level operators and most of B's at boundary; "
            "record all runs with the same --plan");
}

std::string WhyNot(const std::vector<const char*>& a, const std::vector<const char*>& b,
                   const char* machine_a = "", const char* machine_b = "") {
  std::vector<trace::Trace> traces;
  for (const auto* side : {&a, &b}) {
    for (const char* text : *side) {
      auto trace = trace::ParseText(text);
      EXPECT_TRUE(trace.ok()) << trace.status().message();
      traces.push_back(std::move(*trace));
      traces.back().machine = side == &a ? machine_a : machine_b;
      for (trace::Track& track : traces.back().tracks) {
        if (track.kind == trace::TrackKind::kDevice) track.device_name = track.name;
      }
    }
  }
  std::vector<Run> runs;
  for (const trace::Trace& trace : traces) runs.push_back({&trace, nullptr});
  return WhyNotCompared(Sides{{runs.data(), a.size()}, {runs.data() + a.size(), b.size()}});
}

TEST(Comparable, RunsAreOfOneMachineAndHaveEquallyManyProcessesWithSteps) {
  const char* one = "process p window=0..9\nthread t\nstep step 0 5\n";
  const char* two =
      "process p window=0..9\nthread t\nstep step 0 5\nprocess q window=0..9\nthread t\n"
      "step step 0 5\nprocess r window=0..9\n";
  const char* none = "process p window=0..9\nthread t\n";
  const char* chip = "process p window=0..9\nthread t\nstep step 0 5\ndevice H200\n";
  const char* other = "process p window=0..9\nthread t\nstep step 0 5\ndevice A100\n";
  EXPECT_EQ(WhyNot({one}, {one}), "");
  EXPECT_EQ(WhyNot({two}, {two}), "");
  EXPECT_EQ(WhyNot({one}, {two}),
            "A has 1 processes with steps and B 2; compare runs with equally many");
  EXPECT_EQ(WhyNot({one, two}, {one, two}),
            "A has 1, 2 processes with steps and B 1, 2; compare runs with equally many");
  EXPECT_EQ(WhyNot({none}, {none}), "") << "none on either side: their steps say that";
  EXPECT_EQ(WhyNot({chip}, {one}), "") << "one is not known";
  EXPECT_EQ(WhyNot({one}, {chip}), "");
  EXPECT_EQ(WhyNot({chip, other}, {other, chip}), "");
  EXPECT_EQ(WhyNot({chip, other}, {other}),
            "A ran on another device (A100, H200) than B (A100); compare runs of one machine");
  EXPECT_EQ(WhyNot({one}, {one}, "x", "x"), "");
  EXPECT_EQ(WhyNot({one}, {one}, "x", ""), "");
  EXPECT_EQ(WhyNot({chip}, {other}, "x", "y"),
            "A ran on another processor (x) than B (y); compare runs of one machine");
}

struct Input {
  const char *name, *dims, *found;
  int64_t a, b;
};
std::string WhyNot(const std::vector<Input>& inputs) {
  using analyze::Integer, analyze::Text;
  analyze::TableRows table("diff_inputs", Text("name"), Text("input_dims"), Text("found"),
                           Integer("a_count"), Integer("b_count"));
  for (const Input& i : inputs) table.Add(i.name, i.dims, i.found, i.a, i.b);
  return WhyNotCompared(table.Make());
}

TEST(Comparable, MostCallsOfOperatorsHaveInputsThatTheOtherSideHas) {
  const std::string other = "most operators have other input shapes (";
  const std::string same = "); compare runs of the same work";
  EXPECT_EQ(WhyNot({}), "");
  EXPECT_EQ(WhyNot({{"mm", "[2]", "both", 5, 5}}), "");
  EXPECT_EQ(WhyNot({{"mm", "[2]", "A", 5, 0}, {"mm", "[3]", "B", 0, 4}}),
            other + "mm: [2] in A, [3] in B" + same);
  // Half of either side is most.
  EXPECT_EQ(
      WhyNot({{"mm", "[1]", "both", 5, 1}, {"mm", "[2]", "A", 5, 0}, {"mm", "[3]", "B", 0, 9}}),
      "");
  EXPECT_EQ(
      WhyNot({{"mm", "[1]", "both", 1, 5}, {"mm", "[2]", "A", 9, 0}, {"mm", "[3]", "B", 0, 5}}),
      "");
  EXPECT_EQ(
      WhyNot({{"mm", "[1]", "both", 4, 4}, {"mm", "[2]", "A", 5, 0}, {"mm", "[3]", "B", 0, 5}}),
      other + "mm: [2] in A, [3] in B" + same);
  // An operator of one side says nothing, nor does one without dimensions.
  EXPECT_EQ(WhyNot({{"add", "[1]", "A", 50, 0}, {"sub", "[1]", "B", 0, 50}}), "");
  EXPECT_EQ(WhyNot({{"mm", "", "A", 50, 0}, {"mm", "", "B", 0, 50}}), "");
  EXPECT_EQ(WhyNot({{"mm", "[1]", "both", 5, 5}, {"add", "[2]", "A", 50, 0}}), "");
  // The operator that both sides call most otherwise, by the inputs that are most of these.
  EXPECT_EQ(WhyNot({{"add", "[1]", "A", 90, 0},
                    {"add", "[2]", "B", 0, 3},
                    {"mm", "[3]", "A", 4, 0},
                    {"mm", "[4]", "A", 9, 0},
                    {"mm", "[5]", "A", 9, 0},
                    {"mm", "[6]", "B", 0, 8},
                    {"mm", "[7]", "B", 0, 7},
                    {"sub", "[1]", "A", 8, 0},
                    {"sub", "[2]", "B", 0, 8}}),
            other + "mm: [4] in A, [6] in B" + same);
}

}  // namespace
}  // namespace crosscut::compare
