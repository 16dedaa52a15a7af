#include "src/trace/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/trace/text.h"

namespace crosscut::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Trace Text(const std::string& text) {
  auto trace = ParseText("# crosscut trace\n" + text);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  return std::move(*trace);
}

constexpr const char* kFirst = R"(
process rank pid=1 window=0..100 name=a
thread main tid=1 main lead
op forward 0 50
span add 10 20 framework
arg note "shared word"
realtime 1000
)";
constexpr const char* kSecond = R"(
process other pid=5 window=0..10
thread main tid=5 main
process rank pid=2 parent=other window=0..100 name=b
pause 30 40
probe op 1 2 3 4 5
thread main tid=2 main lead
span launch 5 9 runtime
out 7 6
arg note "shared word"
arg bytes 3
lose full 2 50 60
step step 0 90
count queue 12 3
device gpu stream=7
span kernel 20 30 device
in 7 20
realtime 1500
)";

TEST(Merge, SaysWhereTheInputsStandOnNoCommonClock) {
  Trace whole = Text("process a pid=1 window=0..9\nrealtime 1000\n");
  Append(Text("process b pid=2 window=0..9\n"), &whole);
  EXPECT_THAT(whole.gaps, ElementsAre("Of the inputs not all know the time of day: they do not "
                                      "stand on one clock."));
}

TEST(Merge, PutsTheSecondOnTheFirstsClockAndKeepsAllThatHangsTogether) {
  Trace whole = Text(kFirst);
  Append(Text(kSecond), &whole);
  ASSERT_EQ(whole.processes.size(), 3u);
  const Process& rank = whole.processes[2];
  EXPECT_EQ(whole.text(rank.key), "rank (2)");
  EXPECT_EQ(whole.text(rank.name), "b");
  EXPECT_EQ(rank.parent.value, 1u);
  EXPECT_EQ(rank.start_ns, 500);
  EXPECT_EQ(rank.paused[0].begin_ns, 530);
  EXPECT_EQ(rank.steps[0].end_ns, 590);
  EXPECT_EQ(whole.text(rank.probes[0].probe), "op");
  ASSERT_EQ(whole.tracks.size(), 4u);
  const Track& host = whole.tracks[2];
  EXPECT_EQ(rank.lead.value, 2u);
  EXPECT_EQ(host.process.value, 2u);
  EXPECT_THAT(host.spans.begin_ns, ElementsAre(505));
  EXPECT_EQ(whole.text(whole.name(host.spans.name[0]).text), "launch");
  std::vector<Arg> args;
  for (const Arg& arg : host.args.of(0)) args.push_back(arg);
  ASSERT_EQ(args.size(), 2u);
  EXPECT_EQ(whole.text(args[0].text()), "shared word");
  EXPECT_EQ(args[1].value, 3);
  EXPECT_EQ(host.losses[0].end_ns, 560);
  EXPECT_EQ(whole.text(host.losses[0].reason), "full");
  ASSERT_EQ(whole.flows.size(), 1u);
  EXPECT_EQ(whole.flows[0].from_track.value, 2u);
  EXPECT_EQ(whole.flows[0].to_track.value, 3u);
  EXPECT_EQ(whole.flows[0].to_ns, 520);
  EXPECT_EQ(whole.counters[0].process.value, 2u);
  EXPECT_EQ(whole.counters[0].at_ns[0], 512);
  EXPECT_EQ(whole.text(whole.name(whole.counters[0].name).text), "queue");
  EXPECT_TRUE(whole.gaps.empty());
}

TEST(Merge, SaysOnceWhereThereIsNoCommonClock) {
  Trace whole = Text(kFirst);
  Append(Text("process x pid=9 window=0..10\nthread main tid=9 main\n"), &whole);
  Append(Text("process y pid=9 window=0..10\nthread main tid=9 main\n"), &whole);
  EXPECT_EQ(whole.processes[1].start_ns, 0);
  EXPECT_THAT(whole.gaps, ElementsAre(HasSubstr("not stand on one clock")));
}

TEST(Merge, OfWallClocksWithAndWithoutABaseIsOnOne) {
  Trace whole = Text("process a pid=1 window=1500..1600\n");
  whole.clock = "CLOCK_REALTIME";
  Append(Text("process b pid=2 window=0..9\nrealtime 1520\n"), &whole);
  Trace other = Text("process c pid=3 window=1530..1531\n");
  other.clock = "CLOCK_REALTIME";
  Append(std::move(other), &whole);
  EXPECT_EQ(whole.processes[1].start_ns, 1520);
  EXPECT_EQ(whole.processes[2].start_ns, 1530);
  EXPECT_TRUE(whole.gaps.empty());
}

TEST(Merge, IntoNothingIsTheTraceItself) {
  Trace whole;
  Append(Text(kSecond), &whole);
  EXPECT_EQ(whole.processes.size(), 2u);
  EXPECT_EQ(whole.processes[1].start_ns, 0);
  EXPECT_TRUE(whole.gaps.empty());
}

}  // namespace
}  // namespace crosscut::trace
