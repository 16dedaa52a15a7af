// Requests by route, and what they cut a window into.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/analyze/steps/tables.h"
#include "src/analyze/testing/test_trace.h"
#include "src/analyze/verdict/causes.h"

namespace crosscut::analyze {
namespace {

using testing::Compute;
using ::testing::ElementsAre;
using testing::Parse;
using testing::Rows;

constexpr char kServer[] = R"(
process server window=0..1000
thread main tid=7 base=python main lead
base 200 idle
base 250 python
async requests
request "GET /a" 100 200
arg running_ns 40
request "GET /a" 300 500
arg running_ns 60
request "GET /b" 600 700
async requests
request "GET /a" 150 190
request "GET /a" 450 900
arg open 1
)";

TEST(Requests, AreToldByRoute) {
  const trace::Trace trace = Parse(kServer);
  // process request what, count open, total mean p50 p90 p99 max, running waiting, most
  const Table table = Compute(trace, "requests");
  EXPECT_EQ(table.texts("request")[0], "GET /a");
  EXPECT_EQ(table.integers("count")[0], 4);
  EXPECT_EQ(table.integers("open")[0], 1);
  EXPECT_EQ(table.integers("total_ns")[0], 100 + 200 + 40);
  EXPECT_EQ(table.integers("mean_ns")[0], 340 / 3);
  EXPECT_EQ(table.integers("p50_ns")[0], 100);
  EXPECT_EQ(table.integers("p99_ns")[0], 200);
  EXPECT_EQ(table.integers("max_ns")[0], 200);
  EXPECT_EQ(table.integers("running_ns")[0], 50);
  EXPECT_EQ(table.integers("waiting_ns")[0], 100);
  EXPECT_EQ(table.integers("most")[0], 2);
  // 100 to 200 and 300 to 900, in which they take 100 + 40 + 200 + 450.
  EXPECT_DOUBLE_EQ(table.reals("concurrency")[0], 790.0 / 700);
  EXPECT_DOUBLE_EQ(table.reals("per_second")[0], 4 / 800e-9);
  EXPECT_EQ(table.texts("request")[1], "GET /b");
  EXPECT_EQ(table.integers("running_ns")[1], kMissing);
}

TEST(Requests, CutTheWindowOfAProcessWithoutSteps) {
  EXPECT_THAT(Rows(Parse(kServer), "window_parts"),
              ElementsAre("server start-up ? 100 100", "server requests 5 700 700",
                          "server between requests ? 100 100", "server shutdown ? 100 100"));
}

TEST(Requests, AreWhatTheCausesAreOf) {
  const trace::Trace trace = Parse(kServer);
  const Context context(trace);
  const ProcessCauses& causes = context.Shared<Causes>().processes[0];
  EXPECT_EQ(causes.part, WindowPart::kRequests);
  EXPECT_EQ(causes.total_ns, 700);
  EXPECT_EQ(causes.causes[static_cast<size_t>(Cause::kPython)].ns, 700);
}

TEST(Requests, CutNothingWhereThereAreSteps) {
  const trace::Trace trace = Parse(std::string(kServer) + R"(
thread worker tid=8
step step 100 400
)");
  EXPECT_THAT(Rows(trace, "window_parts"),
              ElementsAre("server start-up ? 100 100", "server steps 1 300 300",
                          "server shutdown ? 600 600"));
  EXPECT_EQ(Compute(trace, "requests").rows(), 2u);
}

// The parts of a program whose lead waits, or runs, beside two requests of 1000 ns each.
std::vector<std::string> PartsOf(const std::string& waits, int samples) {
  std::string text =
      "process job window=0..60000\nthread main tid=7 base=python main lead\n"
      "instant [sample] 100\narg covers_ns 100\narg \"Waits for\" select\n";
  for (int i = 0; i < samples; ++i) {
    text += "instant [sample] " + std::to_string(12000 + 1000 * i) + "\narg covers_ns 1000\n" +
            "arg \"Own line\" \"a.py:1 f\"\n" + waits;
  }
  return Rows(Parse(text + "async requests\nrequest \"GET /metrics\" 10000 11000\n"
                           "request \"GET /metrics\" 50000 51000\n"),
              "window_parts");
}

TEST(Requests, CutNothingWhereTheLeadWorksFarMoreBesideThem) {
  const auto cut = ElementsAre("job start-up ? 10000 10000", "job requests 2 2000 2000",
                               "job between requests ? 39000 39000", "job shutdown ? 9000 9000");
  EXPECT_THAT(PartsOf("", 38), ElementsAre("job whole window ? 60000 60000"));
  EXPECT_THAT(PartsOf("", 19), cut) << "too few samples to tell";
  EXPECT_THAT(PartsOf("arg \"Waits for\" select\n", 38), cut);
}

std::string Tasks(int count) {
  std::string text =
      "process tasks window=0..1000\nthread main tid=7 base=python main\nasync all\n";
  for (int i = 0; i < count; ++i) {
    text +=
        "request fetch " + std::to_string(10 * i) + " " + std::to_string(10 * i + 5) + " found\n";
  }
  return text + "request main 900 950 found\n";
}

// How many kinds of requests `tasks` and `more` have.
size_t Kinds(int tasks, const std::string& more) {
  return Compute(Parse(Tasks(tasks) + more), "requests").rows();
}

TEST(Requests, TasksAreSomeWhereNothingElseRepeats) {
  EXPECT_THAT(Compute(Parse(Tasks(10)), "requests").texts("what"), ElementsAre("task"));
  EXPECT_EQ(Kinds(9, ""), 0u);
  EXPECT_THAT(
      Compute(Parse(Tasks(10) + "request \"GET /\" 960 970\n"), "requests").texts("request"),
      ElementsAre("GET /"));
  EXPECT_EQ(Kinds(10, "thread other tid=8\nstep step 0 10\n"), 0u);
}

}  // namespace
}  // namespace crosscut::analyze
