// What start, stop and snapshot say of the processes that they ask, whose words check-plugin's are,
// and how lists of names are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "src/cli/commands.h"
#include "src/verbs/test_armed_ring.h"

namespace crosscut::cli {
namespace {

std::string talked, printed;

}  // namespace

// In place of main.cc's.
void Talk(std::string_view line) { talked += std::string(line) + "\n"; }
int Fail(const Status& status) {
  Talk(status.message());
  return kUnreadable;
}
int Print(std::string_view text, bool) {
  printed += text;
  return kGood;
}

namespace {

class ControlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/crosscut-cli-test-XXXXXX";
    run_ = mkdtemp(name);
    std::ofstream(run_ + "/run.json") << "{\"format\": 1}";
  }
  void TearDown() override { std::filesystem::remove_all(run_); }

  // The verb of this run, with its options as the parser sets them.
  struct Set {
    std::string name;
    double value;
  };
  int Run(Verb verb, const std::vector<Set>& options = {}) {
    talked.clear();
    printed.clear();
    *std::get<std::string*>(verb.positionals.at(0).target) = run_;
    for (const Set& set : options) {
      for (const Argument& option : verb.options) {
        if (option.long_name != set.name) continue;
        if (auto* const* number = std::get_if<uint64_t*>(&option.target)) {
          **number = static_cast<uint64_t>(set.value);
        } else if (auto* const* real = std::get_if<double*>(&option.target)) {
          **real = set.value;
        } else {
          *std::get<bool*>(option.target) = true;
        }
      }
    }
    return verb.run();
  }
  std::string Title() const { return "crosscut_cli_test (pid " + std::to_string(getpid()) + "): "; }
  std::string Next() const { return "next: crosscut report " + run_ + "\n"; }

  std::string run_;
};

// Options, too: the checker has its own.
TEST(CheckPluginVerb, LeavesItsWordsToTheChecker) {
  const Verb verb = CheckPluginVerb();
  EXPECT_TRUE(verb.passes_all_on());
  EXPECT_TRUE(verb.options.empty()) << "--help is the checker's";
  ASSERT_NE(verb.words, nullptr);
  *verb.words = {"libx.so", "--help"};
  talked.clear();
  EXPECT_EQ(verb.run(), kUnreadable);
  EXPECT_THAT(talked, ::testing::HasSubstr("no crosscut-check-plugin beside "));
}

TEST_F(ControlTest, AWindowIsToldByItsNumberAndItsSteps) {
  verbs::ArmedRing ring(run_, 1);
  ring.header().control.steps = 40;
  ring.Serve(1000, /*asked=*/true);
  EXPECT_EQ(Run(StartVerb(), {{"--at-step", 50}}), kGood);
  EXPECT_EQ(printed, Title() + "window 1 has begun at step 50\n");
  EXPECT_EQ(talked, "") << "nothing to read yet";
  EXPECT_EQ(Run(StopVerb(), {{"--now", 1}}), kGood);
  EXPECT_EQ(talked, Next());
  EXPECT_EQ(printed, Title() + "window 1, steps 50 to " +
                         std::to_string(ring.header().control.end_step - 1) + ", is complete\n");
  EXPECT_EQ(Run(StartVerb(), {{"--steps", 3}}), kGood);
  EXPECT_EQ(talked, Next());
  const format::RingControl& control = ring.header().control;
  EXPECT_EQ(printed, Title() + "window " + std::to_string(control.window_begun) + ", steps " +
                         std::to_string(control.first_step) + " to " +
                         std::to_string(control.first_step + 2) + ", is complete\n");
}

TEST_F(ControlTest, WhereNoStepsAreCountedNoneAreTold) {
  verbs::ArmedRing ring(run_, 1);
  ring.Serve(0);
  EXPECT_EQ(Run(StartVerb()), kGood);
  EXPECT_EQ(printed, Title() + "window 1 has begun\n");
  EXPECT_EQ(Run(SnapshotVerb()), kGood);
  EXPECT_EQ(printed, Title() + "written\n");
  EXPECT_EQ(talked, Next());
  EXPECT_EQ(Run(StopVerb()), kGood);
  EXPECT_EQ(printed, Title() + "window 1 is complete\n");
  EXPECT_EQ(Run(StartVerb(), {{"--seconds", 0.05}}), kGood);
  EXPECT_EQ(printed, Title() + "window 2 is complete\n");
  EXPECT_EQ(talked, Next());
}

TEST_F(ControlTest, WhoDoesNotFollowIsAFinding) {
  verbs::ArmedRing follows(run_, 1), records(run_, 2);
  records.header().state = format::kRingRecording;
  records.header().control.window_begun = 4;
  follows.Serve(0);
  EXPECT_EQ(Run(StartVerb()), kFinding);
  const std::string begun = Title() + "window 5 has begun\n";
  const std::string refused =
      Title() + "did not follow the request: it is already recording, window 4\n";
  EXPECT_THAT(printed, ::testing::AnyOf(begun + refused, refused + begun));
  follows.End();
  EXPECT_EQ(Run(StartVerb()), kUnreadable) << "none of them";
  EXPECT_THAT(talked, ::testing::HasSubstr("it is already recording"));
  EXPECT_EQ(printed, "");

  format::Ask(&follows.header(), {format::kRequestStart, 100});
  records.header().state = format::kRingStopped;
  EXPECT_EQ(Run(StopVerb()), kFinding);
  EXPECT_THAT(printed,
              ::testing::HasSubstr(Title() + "a start that was still waiting was taken back\n"));
}

// A window that was asked to end at once, before the step that it was to begin with.
TEST_F(ControlTest, AWindowHasOneStepAtLeast) {
  verbs::ArmedRing ring(run_, 1);
  ring.header().state = format::kRingRecording;
  ring.header().control.window_begun = 3;
  ring.header().control.first_step = 1'000'000;
  ring.Serve(1000);
  EXPECT_EQ(Run(StopVerb(), {{"--now", 1}}), kGood);
  EXPECT_EQ(printed, Title() + "window 3, steps 1000000 to 1000000, is complete\n");
}

TEST(Names, AreToldOnLinesThatFitATerminal) {
  const std::string forty(40, 'a'), last(30, 'b');
  talked.clear();
  // "the names are" and two of them: 13 + 1 + 41 + 1 + 34 = 90 columns behind "crosscut: ".
  TalkNames("the names are", {forty, std::string(33, 'c'), last});
  EXPECT_EQ(talked, "the names are " + forty + ", " + std::string(33, 'c') + ",\n  " + last + "\n");
  talked.clear();
  TalkNames("the names are", {forty, std::string(34, 'c'), last});
  EXPECT_EQ(talked, "the names are " + forty + ",\n  " + std::string(34, 'c') + ", " + last + "\n");
  talked.clear();
  TalkNames("the names are", {forty, std::string(34, 'c')});
  EXPECT_EQ(talked, "the names are " + forty + ", " + std::string(34, 'c') + "\n");
}

}  // namespace
}  // namespace crosscut::cli
