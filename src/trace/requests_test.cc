#include "src/trace/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/trace/text.h"

namespace crosscut::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Trace Parsed(const std::string& text) {
  auto trace = ParseText(text);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  return std::move(*trace);
}

// "GET 10..50 runs 7 open task"
std::vector<std::string> Told(const Trace& trace, uint32_t process = 0) {
  std::vector<std::string> out;
  const auto requests = RequestsByProcess(trace);
  for (const Request& request : requests[process]) {
    out.push_back(std::string(trace.text(request.name)) + " " + std::to_string(request.begin_ns) +
                  ".." + std::to_string(request.end_ns) + " runs " +
                  std::to_string(request.running_ns) + (request.open ? " open" : "") +
                  (request.task ? " task" : ""));
  }
  return out;
}

TEST(Requests, AreTheStepsOfAsynchronousTracksByTheirBegin) {
  const Trace trace = Parsed(
      "process a window=0..100\nthread t\nop x 0 9\n"
      "async one\nrequest GET 30 50\narg running_ns 7\narg open 1\nspan other 60 70\n"
      "request PUT 80 90\narg bytes 5\n"
      "async two\nrequest GET 10 40\narg running_ns 3\n"
      "process b window=0..100\nasync one\nrequest PUT 5 6\n");
  EXPECT_THAT(Told(trace),
              ElementsAre("GET 10..40 runs 3", "GET 30..50 runs 7 open", "PUT 80..90 runs -1"));
  EXPECT_THAT(Told(trace, 1), ElementsAre("PUT 5..6 runs -1"));
}

std::string Tasks(int count, const std::string& name) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += "request " + name + " " + std::to_string(i * 10) + " " + std::to_string(i * 10 + 5) +
            " found\n";
  }
  return text;
}

TEST(Requests, TasksAreSomeWhereNothingElseRepeatsAndTheyDo) {
  const std::string process = "process a window=0..1000\nthread t\n";
  EXPECT_EQ(Told(Parsed(process + "async one\n" + Tasks(10, "f") + Tasks(9, "g"))).size(), 10u);
  EXPECT_THAT(Told(Parsed(process + "async one\n" + Tasks(9, "f"))), IsEmpty());
  EXPECT_THAT(Told(Parsed(process + "async one\n" + Tasks(10, "f") + "request GET 500 600\n")),
              ElementsAre("GET 500..600 runs -1"));
  EXPECT_THAT(Told(Parsed(process + "step step 0 9\nasync one\n" + Tasks(10, "f"))), IsEmpty());
}

TEST(Requests, AreServedWhenAtLeastOneIsHandled) {
  const auto served = [](const std::vector<std::pair<int64_t, int64_t>>& times) {
    std::vector<Request> requests;
    for (const auto& [begin, end] : times) requests.push_back({begin, end, {}});
    std::vector<std::pair<int64_t, int64_t>> out;
    for (const Interval& time : Served(requests)) out.emplace_back(time.begin_ns, time.end_ns);
    return out;
  };
  using Times = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(served({}), Times());
  EXPECT_EQ(served({{1, 5}, {2, 3}, {5, 7}, {8, 9}, {9, 9}}), (Times{{1, 7}, {8, 9}}));
}

// 20 samples of 10 ns each, at those times, of the lead.
std::string Samples(int count, int from, const std::string& more = "") {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += "instant [sample] " + std::to_string(from + i) + "\narg covers_ns 10\n" + more;
  }
  return text;
}

TEST(Requests, AreWhatAProcessDoesUnlessItRunsTenTimesLongerBeside) {
  const auto serves = [](const std::string& samples, int64_t until) {
    const Trace trace = Parsed("process a window=0..10000\nthread t lead\nspan x 0 10\n" + samples +
                               "instant w 1\narg \"Waits for\" lock\n");
    return IsServer(trace, {0}, {{100, until}});
  };
  // They take 20 ns: 200 beside is ten times that.
  EXPECT_FALSE(serves(Samples(20, 200), 120));
  EXPECT_TRUE(serves(Samples(20, 200), 121));
  EXPECT_TRUE(serves(Samples(19, 200), 102)) << "too few tell nothing";
  EXPECT_TRUE(serves(Samples(60, 20), 120)) << "before the first, and inside one";
  EXPECT_FALSE(serves(Samples(20, 120), 120)) << "its end is outside";
  EXPECT_TRUE(serves(Samples(20, 200, "arg Thread 5\n"), 120)) << "another thread's";
  EXPECT_TRUE(serves(Samples(20, 200, "arg \"Waits for\" lock\n"), 120)) << "it waits";
  const Trace unknown =
      Parsed("process a window=0..10000\nthread t lead\nspan x 0 10\n" + Samples(20, 200));
  EXPECT_TRUE(IsServer(unknown, {0}, {{100, 120}})) << "what threads wait for is not known";
  EXPECT_FALSE(IsServer(unknown, {0}, {}));
}

TEST(Requests, WhoRunsForATenthOfTheirTimeRunsBeside) {
  const auto runs = [](const std::string& samples, Interval time) {
    return RunsBeside(Parsed("process a window=0..10000\nthread t lead\nspan x 0 10\n" + samples +
                             "instant w 1\narg \"Waits for\" lock\n"),
                      {0}, time);
  };
  EXPECT_TRUE(runs(Samples(20, 200), {200, 2200}));
  EXPECT_FALSE(runs(Samples(20, 200), {200, 2201}));
  EXPECT_FALSE(runs(Samples(20, 200), {201, 2201})) << "the first is before them";
  EXPECT_FALSE(runs(Samples(20, 200), {0, 219})) << "the last is behind them";
  EXPECT_FALSE(runs(Samples(19, 200), {200, 400})) << "too few tell nothing";
}

}  // namespace
}  // namespace crosscut::trace
