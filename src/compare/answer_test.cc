// What the answer says, of changes that are known.
#include "src/compare/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace crosscut::compare {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

RoleSteps Step(const Change& step, size_t runs_a = 2, size_t runs_b = 2) {
  RoleSteps out;
  out.process = "p";
  out.takes_long = true;
  out.runs.a.resize(runs_a);
  out.runs.b.resize(runs_b);
  out.change.step = step;
  out.change.runs_a = runs_a;
  out.change.runs_b = runs_b;
  return out;
}

OperationChange Operation(const std::string& name, double ns, double own_ns) {
  OperationChange out;
  out.operation = name;
  out.change = {100, 100 + ns, ns - 5, ns + 5, -100};
  out.own = {100, 100 + own_ns, own_ns - 5, own_ns + 5, -100};
  out.stands_out = true;
  return out;
}

std::string Headline(const RoleSteps& steps) { return AnswerOf({steps}).headline; }

TEST(Answer, SaysWhichDifferencesMoreRunsWouldTell) {
  const std::string told = "No difference of a whole step can be told: +0.0 % (95 %: ";
  EXPECT_EQ(Headline(Step({100, 100, -4, 4})), told + "-4.0 % to +4.0 %).");
  EXPECT_EQ(Headline(Step({100, 100, -5, 5})), told + "-5.0 % to +5.0 %).");
  const std::string wider = Headline(Step({100, 100, -6, 6}));
  EXPECT_THAT(wider, HasSubstr(told + "-6.0 % to +6.0 %). About 3 runs a side would tell 5.0 % "));
  EXPECT_THAT(Headline(Step({100, 100, -90, 500})),
              HasSubstr(" More than 50 runs a side would tell 5.0 % "));
}

TEST(Answer, OneRunASideTellsNoPaceFromASlowerProgram) {
  const std::string one = " One run a side does not tell another pace of the machine from a slower";
  EXPECT_THAT(Headline(Step({100, 103, -1, 7}, 1, 1)), HasSubstr(one));
  EXPECT_THAT(Headline(Step({100, 97, -7, 1}, 1, 2)), HasSubstr(one));
  EXPECT_THAT(Headline(Step({100, 103, -1, 7}, 2, 1)), HasSubstr(one));
  EXPECT_THAT(Headline(Step({100, 103, -1, 7}, 2, 2)), Not(HasSubstr(one)));
  EXPECT_THAT(Headline(Step({100, 101, -3, 5}, 1, 1)), Not(HasSubstr(one))) << "too little";
}

TEST(Answer, NamesTheTwoOperationsThatChangedMostByThemselves) {
  RoleSteps steps = Step({1000, 1000, -10, 10});
  steps.change.operations = {Operation("x", 0, 10), Operation("y", 0, -20), Operation("z", 0, 30),
                             Operation("", 0, 40)};
  steps.change.operations[3].stands_out = false;
  const std::string two =
      "z: +30 ns a step (95 %: +25 ns to +35 ns), y: -20 ns a step (95 %: -25 ns to -15 ns)";
  EXPECT_THAT(Headline(steps), HasSubstr("B differs in " + two + ". No difference"));
  steps.change.pace = 1.03;
  EXPECT_THAT(Headline(steps), HasSubstr("z: +30 ns a step at equal pace (95 %: "));
  EXPECT_THAT(Headline(steps), Not(HasSubstr("pace is not known")));
  steps.change.paces_differ = true;
  EXPECT_THAT(Headline(steps),
              HasSubstr(". The machine's pace is not known: operations differ. No"));
  steps.change.pace = 0.985;
  EXPECT_THAT(Headline(steps), HasSubstr("z: +30 ns a step (95 %: "));
  steps.change.operations[3].stands_out = true;
  EXPECT_THAT(Headline(steps), HasSubstr("B differs in (no operation): +40 ns"));
}

TEST(Answer, OfASlowerStepItNamesTheOperationThatHasItsChange) {
  RoleSteps steps = Step({1000, 1100, 50, 150});
  const std::string head = "A step of B is 10.0 % slower (95 %: +5.0 % to +15.0 %), +100 ns";
  EXPECT_EQ(Headline(steps), head + ", spread over its operations.");
  steps.change.operations = {Operation("less", -90, -90), Operation("more", 60, 60)};
  EXPECT_EQ(Headline(steps), head + ", most of it in more: +60 ns.");
  steps.change.operations[1] = Operation("more", 50, 50);
  EXPECT_EQ(Headline(steps), head + ", partly in more: +50 ns.");
  steps.change.operations[1].change.a = 0;
  steps.change.operations[1].change.b = 50;
  EXPECT_EQ(Headline(steps), head + ", partly in more (new): +50 ns.");
  steps.change.step = {1000, 900, -150, -50};
  EXPECT_EQ(Headline(steps),
            "A step of B is 10.0 % faster (95 %: -15.0 % to -5.0 %), -100 ns, most of it in less: "
            "-90 ns.");
  // An interval that begins or ends with nothing holds it.
  for (const Change& change : {Change{100, 110, 0, 20}, Change{100, 90, -20, 0}}) {
    EXPECT_EQ(AnswerOf({Step(change)}).result, Answer::Result::kSame);
  }
  EXPECT_EQ(AnswerOf({Step({100, 20, -150, -50})}).low, -1) << "all of A at most";
}

TEST(Answer, ProcessesThatTakeLongAndAreNotComparedAreCounted) {
  const auto other = [](const std::string& process, bool takes_long, bool has_several = false) {
    RoleSteps out;
    out.process = process;
    out.takes_long = takes_long;
    out.has_several = has_several;
    out.why_not = "it has none";
    return out;
  };
  std::vector<RoleSteps> roles = {Step({100, 100, -1, 1})};
  EXPECT_EQ(AnswerOf(roles).left_out, "");
  roles.push_back(other("short", false));
  roles.push_back(other("of another kind", true, true));
  EXPECT_EQ(AnswerOf(roles).left_out, "");
  roles.push_back(other("first", true));
  EXPECT_EQ(AnswerOf(roles).left_out, "first: it has none");
  roles.push_back(other("second", true));
  EXPECT_EQ(AnswerOf(roles).left_out, "first: it has none; and 1 more");
  roles.push_back(other("third", true));
  EXPECT_EQ(AnswerOf(roles).left_out, "first: it has none; and 2 more");
  EXPECT_THAT(AnswerOf(roles).headline,
              EndsWith(" Not compared, though its steps take as long: first: it has none; and 2 "
                       "more."));
}

// The step, or what stands out of it, whichever is certainly slower by most.
TEST(Answer, TheSlowestIsWhatGrewMostForCertain) {
  RoleSteps steps = Step({100, 110, 4, 16});
  EXPECT_DOUBLE_EQ(AnswerOf({steps}).slower, 0.04);
  EXPECT_EQ(AnswerOf({steps}).slowest, "a step");
  steps.change.operations = {Operation("load", 20, 20)};
  EXPECT_DOUBLE_EQ(AnswerOf({steps}).slower, (20 - 1.5 * 5) / 100);
  EXPECT_EQ(AnswerOf({steps}).slowest, "load");
  EXPECT_FALSE(AnswerOf({steps}).slowest_is_new);
  steps.change.operations[0].change.a = steps.change.operations[0].own.a = 0;
  steps.change.operations[0].own.b = 40;
  steps.change.operations[0].own.low = 30;
  EXPECT_DOUBLE_EQ(AnswerOf({steps}).slower, (40 - 1.5 * 10) / 100);
  EXPECT_TRUE(AnswerOf({steps}).slowest_is_new);
  steps.takes_long = false;
  EXPECT_LT(AnswerOf({steps}).slower, -1e300) << "nothing that takes long";
}

}  // namespace
}  // namespace crosscut::compare
