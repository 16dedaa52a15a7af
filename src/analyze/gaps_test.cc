// What a trace lacks, in sentences.
#include "src/analyze/gaps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TestTrace;
using trace::Kind;
using trace::Layer;

TEST(Gaps, TellOfSourcesThatAProcessDidNotHave) {
  TestTrace t;
  trace::Strings& strings = t.trace().strings;
  const auto source = [&](const char* name, const char* state, const char* message) {
    return trace::Source{strings.Intern(name), strings.Intern("1"), strings.Intern(state),
                         strings.Intern(message)};
  };
  for (const char* key : {"p1", "p2"}) {
    const auto p = t.Process(key, 0, 100);
    t.process(p).sources = {source("pytorch", "missing", "not built for torch 9"),
                            source("pycalls", "on", ""), source("samples", "off", "not asked for")};
  }
  t.process({0}).sources.push_back(source("allocations", "conflict", ""));
  // What nobody asked for is told unless a process has it.
  t.process({0}).sources.push_back(source("chip", "not asked for", "it is there"));
  t.process({0}).sources.push_back(source("other chip", "not asked for", "it is there"));
  t.process({1}).sources.push_back(source("other chip", "on", ""));
  const trace::Trace& trace = t.Finish();
  EXPECT_THAT(Gaps(trace, Context(trace)),
              ElementsAre("Source allocations: a conflict in p1.",
                          "Source chip not asked for in p1: it is there.",
                          "Source pytorch missing in 2 processes: not built for torch 9."));
}

TEST(Gaps, TellOfStepsThatOtherThreadsMade) {
  const trace::Trace trace = testing::Parse(R"_(# crosscut trace
process train pid=7 window=0..1000
thread main tid=7 main
step step 0 100
thread trainer tid=8
step step 100 200
step step 200 300
)_");
  EXPECT_THAT(Gaps(trace, Context(trace)),
              ElementsAre("1 of 3 steps of train (pid 7) was made by a thread other than the lead "
                          "(trainer); its time is split by the lead's operations."));
}

TEST(Gaps, TellOfTheStepsOfSeveralProcessesOnce) {
  const std::string process = R"_(window=0..7000000000
thread main tid=7 main
step step 0 1000000000
thread trainer tid=8
step step 1000000000 2000000000 level=0
)_";
  const trace::Trace trace =
      testing::Parse("process a pid=1 " + process + "process b pid=2 " + process);
  EXPECT_THAT(Gaps(trace, Context(trace)),
              ElementsAre("2 of 4 steps of 2 processes, such as a (pid 1), were made by threads "
                          "other than the lead (main there); their time is split by the lead's "
                          "operations.",
                          "Up to 5.000 s of 2 processes, such as a (pid 1), after their last steps "
                          "are not known by layer: those were control steps, and all probes stay "
                          "off until the next one."));
}

TEST(Gaps, NameTheRanksOfAJobThatAreNotHere) {
  const auto gaps = [](const std::string& ranks, const char* size) {
    std::string text;
    for (const char rank : ranks) {
      text += std::string("process r") + rank + " window=0..9\nmeta rank " + rank +
              "\nmeta world_size " + size + "\n";
    }
    const trace::Trace trace = testing::Parse(text);
    return Gaps(trace, Context(trace));
  };
  EXPECT_THAT(gaps("02", "4"), ElementsAre("2 of the 4 ranks of the job are not here: 1, 3."));
  EXPECT_THAT(gaps("01", "3"), ElementsAre("1 of the 3 ranks of the job is not here: 2."));
  EXPECT_THAT(gaps("01", "64"), ElementsAre("62 of the 64 ranks of the job are not here: 2, 3, 4, "
                                            "5, 6, 7, 8, 9, ..."));
  EXPECT_THAT(gaps("01", "2"), ElementsAre());
  EXPECT_THAT(gaps("1", "2"), ElementsAre());  // one rank stands for itself
}

TEST(Gaps, TellOfScopesThatMayHaveBegunInControlSteps) {
  const auto of = [](const char* scope) {
    const trace::Trace trace = testing::Parse(std::string(R"_(# crosscut trace
process train pid=7 window=0..1000
thread main tid=7 main
step step 0 100
step step 100 200 number=1 level=0
step step 200 300 number=2 level=3
)_") + "span " + scope + " probe=scope\n");
    return Gaps(trace, Context(trace));
  };
  EXPECT_THAT(of("epoch 210 290"), ElementsAre()) << "each lies in a step of its own";
  EXPECT_THAT(of("epoch 50 250"),
              ElementsAre("Scopes of PyTorch that last over several steps of train (pid 7) are not "
                          "seen if they began in a control step (1 step is a control step)."));
}

TEST(Gaps, SentencesThatDifferOnlyInTheProcessAreOne) {
  const auto process = [](const std::string& name, const std::string& pid, int control) {
    std::string text = "process " + name + " pid=" + pid +
                       " window=0..1000\nthread main tid=" + pid + " main\nstep step 0 100\n";
    for (int i = 1; i <= control; ++i) {
      text += "step step " + std::to_string(100 * i) + " " + std::to_string(100 * i + 100) +
              " number=" + std::to_string(i) + " level=0\n";
    }
    return text + "span epoch 50 350 probe=scope\n";
  };
  const trace::Trace trace = testing::Parse("# crosscut trace\n" + process("a", "7", 2) +
                                            process("b", "8", 1) + process("c", "9", 2));
  EXPECT_THAT(Gaps(trace, Context(trace)),
              ElementsAre("Scopes of PyTorch that last over several steps of 2 processes, such as "
                          "a (pid 7), are not seen if they began in a control step (2 steps are "
                          "control steps).",
                          "Scopes of PyTorch that last over several steps of b (pid 8) are not "
                          "seen if they began in a control step (1 step is a control step)."));
}

TEST(Gaps, TellOfValuesThatCouldNotBeKept) {
  TestTrace t;
  const auto p = t.Process("p1", 1'000'000'000, 9'000'000'000);
  const auto lead = t.Lead(p);
  const auto value = t.trace().strings.Intern("value");
  t.track(lead).losses = {{3'000'000'000, 3'000'000'000, 1, value},
                          {4'000'000'000, 4'500'000'000, 2, value},
                          {2'000'000'000, 3'000'000'000, 70, t.trace().strings.Intern("names")}};
  const trace::Trace& trace = t.Finish();
  EXPECT_THAT(
      Gaps(trace, Context(trace)),
      ElementsAre("70 new names of p1 found no room under the memory cap (what they mark stands "
                  "under \"(unnamed)\"), between 1.000 s and 2.000 s after its start.",
                  "3 values of p1 are missing (not a number that can be kept), between "
                  "2.000 s and 3.500 s after its start."));
}

TEST(Gaps, NameLossesIncompleteProcessesAndUncheckedCorrection) {
  TestTrace t;
  const auto p = t.Process("p1", 1'000'000'000, 9'000'000'000);
  const auto lead = t.Lead(p);
  trace::Strings& strings = t.trace().strings;
  t.process(p).complete = false;
  t.process(p).why_incomplete = strings.Intern("killed");
  t.process(p).probes.push_back({strings.Intern("op"), 100, 100, 150, 250, 10});
  t.track(lead).losses.push_back({3'000'000'000, 4'500'000'000, 12, strings.Intern("full")});
  t.track(lead).unfinished = 2;
  t.Step(p, 1'000'000'000, 2'000'000'000, 3);
  const auto q = t.Process("p2", 1'000'000'000, 9'000'000'000);
  t.track(t.Lead(q)).unfinished = 7;  // it ended well: no gap
  t.trace().gaps.push_back("The importer's own.");
  const trace::Trace& trace = t.Finish();
  const Context context(trace);
  EXPECT_THAT(
      Gaps(trace, context),
      ElementsAre(
          "The importer's own.", "Process p1 is incomplete: killed.",
          "12 events of p1 are missing (full), between 2.000 s and 3.500 s "
          "after its start.",
          "2 spans were still open when their threads' recording ended; they count "
          "until then.",
          HasSubstr("not checked against control steps (too few control steps, 0 of 20 blocks")));
}

TEST(Gaps, TellHowFarSpansReachBeyondTheirProcess) {
  const auto gaps = [](const char* window) {
    const trace::Trace trace =
        testing::Parse("# crosscut trace\nprocess train window=" + std::string(window) +
                       "\nthread main main life=0..90000000\nspan a 0 1000000 python\n"
                       "span b 20000000 25000000 python\nspan c 60000000 80000000 python\n");
    return Gaps(trace, Context(trace));
  };
  EXPECT_THAT(gaps("0..80000000"), ::testing::IsEmpty());
  EXPECT_THAT(gaps("1000000..79000000"), ::testing::IsEmpty());  // clocks differ by a millisecond
  EXPECT_THAT(gaps("0..50000000"),
              ::testing::ElementsAre(
                  "1 span of train reaches beyond what was recorded (up to 0.030 s after it "
                  "ended): the time outside is not counted."));
  EXPECT_THAT(gaps("10000000..22000000"),
              ::testing::ElementsAre(
                  "3 spans of train reach beyond what was recorded (up to 0.010 s before it "
                  "began, up to 0.058 s after it ended): the time outside is not counted."));
}

}  // namespace
}  // namespace crosscut::analyze
