// What reading Chrome's traces costs is in proportion to what they hold.
#include <gtest/gtest.h>

#include <ctime>

#include "src/import/chrome/chrome_file_test.h"

namespace crosscut::import {
namespace {

// Of the processor's time, which says the same on a machine with other work.
class ChromeCostTest : public ChromeFileTest {
 protected:
  double Seconds() const {
    return static_cast<double>(std::clock() - begin_) / double{CLOCKS_PER_SEC};
  }
  const std::clock_t begin_ = std::clock();
};

// A square of these would be minutes.
TEST_F(ChromeCostTest, ManyArrowsAtTheEndOfManySpansAllLeaveThem) {
  constexpr int kMany = 100'000;
  const std::string row = R"(,"pid":1,"tid":3,"ts":)", end = std::to_string(2 * kMany);
  std::string events;
  for (int i = 0; i < kMany; ++i) {
    const std::string at = std::to_string(i), length = std::to_string(2 * kMany - i);
    events += R"({"ph":"X","cat":"cpu_op","name":"op")" + row + at + R"(,"dur":)" + length + "},";
    for (const char* phase : {R"("s")", R"("f","bp":"e")"}) {
      events += R"({"ph":)" + std::string(phase) + R"(,"id":)" + at + R"(,"cat":"x","name":"x")" +
                row + end + "},";
    }
  }
  events.pop_back();
  EXPECT_EQ(Of(events).flows.size(), size_t{kMany});
  EXPECT_LT(Seconds(), 20);
}

// Several ranks' traces in one file that names no rank: the process that launched a device's work
// has it, or else the one that stands before it.
TEST_F(ChromeCostTest, ManyDevicesOfManyProcessesAreTheirs) {
  constexpr int kMany = 50'000;
  std::string events = "[";
  const auto event = [&](const char* category, int pid, int at, int correlation) {
    events += R"({"ph":"X","cat":")" + std::string(category) + R"(","name":"n","tid":7,"pid":)" +
              std::to_string(pid) + R"(,"ts":)" + std::to_string(at) +
              R"(,"dur":2,"args":{"stream":7,"correlation":)" + std::to_string(correlation) + "}},";
  };
  for (int i = 1; i <= kMany; ++i) {
    event("cpu_op", 2 * i, i, 0);
    event("cuda_runtime", 2 * i, i, i);
    event("kernel", 2 * i + 1, i + 5, i % 2 == 0 ? kMany - i : 0);
  }
  events.back() = ']';
  const trace::Trace trace = OfText(events);
  EXPECT_LT(Seconds(), 20);
  ASSERT_EQ(trace.processes.size(), size_t{kMany});
  int theirs = 0;
  for (const trace::Track& track : trace.tracks) {
    if (track.kind != trace::TrackKind::kDevice || track.spans.size() == 0) continue;
    const int64_t i = track.spans.begin_ns[0] / 1000 - 5;
    const int64_t owner = i % 2 == 0 && i < kMany ? kMany - i : i;
    theirs += trace.processes[track.process.value].pid == 2 * owner ? 1 : 0;
  }
  EXPECT_EQ(theirs, kMany);
}

}  // namespace
}  // namespace crosscut::import
