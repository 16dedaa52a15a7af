#include "src/trace/gaps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/trace/text.h"

namespace crosscut::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Trace Parsed(std::string_view text) {
  auto trace = ParseText(text);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  return std::move(*trace);
}
std::vector<std::string> GapsOf(std::string_view text) { return Gaps(Parsed(text)); }

TEST(Gaps, SecondsAreRoundedToTheNearestThousandth) {
  EXPECT_EQ(Seconds(0), "0.000 s");
  EXPECT_EQ(Seconds(499'999), "0.000 s");
  EXPECT_EQ(Seconds(500'000), "0.001 s");
  EXPECT_EQ(Seconds(999'499'999), "0.999 s");
  EXPECT_EQ(Seconds(999'500'000), "1.000 s");
  EXPECT_EQ(Seconds(61'042'000'000), "61.042 s");
}

TEST(Gaps, OfWhatIsWholeThereAreNone) {
  EXPECT_THAT(GapsOf("process train pid=7 window=0..100\nthread main\nop a 0 100\n"
                     "source cuda 1 on\nsource cpu 1 off why\nprocess two window=0..100\n"),
              IsEmpty());
}

TEST(Gaps, ProcessesThatAreIncompleteSayWhy) {
  Trace trace = Parsed(
      "process train pid=7 window=0..9 incomplete=\"killed by signal 9\"\n"
      "process two window=0..9\n");
  trace.processes[1].complete = false;
  EXPECT_THAT(Gaps(trace), ElementsAre("Process train (pid 7) is incomplete: killed by signal 9.",
                                       "Process two is incomplete."));
}

TEST(Gaps, ProcessesThatAreIncompleteForOneReasonAreOneSentenceWhereTheFirstOfThemStands) {
  EXPECT_THAT(
      GapsOf("process main pid=1 window=0..9\n"
             "process a pid=2 window=0..9 incomplete=\"it {died|dies}\"\n"
             "process b pid=3 window=0..9 incomplete=another\n"
             "process c pid=4 window=0..9 incomplete=\"it {died|dies}\"\n"
             "process d pid=5 window=0..9 incomplete=\"it {died|dies}\"\n"),
      ElementsAre("3 processes, such as a (pid 2), are incomplete; of each: it {died|dies}.",
                  "Process b (pid 3) is incomplete: another."));
}

TEST(Gaps, SourcesThatAreNotOnAreToldOnceForAllThatSayTheSame) {
  EXPECT_THAT(GapsOf("process a pid=1 window=0..9\n"
                     "source cuda 1 failed no driver\nsource torch 1 conflict two of them\n"
                     "source jax 1 \"not asked for\"\nsource numpy 1 \"not asked for\"\n"
                     "process b pid=2 window=0..9\n"
                     "source cuda 1 failed no driver\nsource jax 1 on\n"
                     "process c pid=3 window=0..9\n"
                     "source cuda 1 failed another\nsource x 1 \"\"\n"),
              ElementsAre("Source cuda failed in c (pid 3): another.",
                          "Source cuda failed in 2 processes: no driver.",
                          "Source numpy not asked for in a (pid 1).",
                          "Source torch: a conflict in a (pid 1): two of them."));
}

TEST(Gaps, WhatAPluginHeldWhenItsProcessEndedIsToldFromItsLastWorkOn) {
  const std::string process = "process train pid=7 window=1000000000..4000000000\n";
  const std::string device = "device gpu\nspan k 1000000000 2500000000 device\n";
  const auto held = [](const std::string& text, std::vector<size_t> holds) {
    Trace trace = Parsed(text);
    for (const size_t source : holds) trace.processes[0].sources[source].holds = true;
    auto gaps = Gaps(trace);
    std::erase_if(gaps, [](const std::string& gap) { return gap.find("while") == gap.npos; });
    return gaps;
  };
  const std::string sentence =
      "train (pid 7) ended (by _exit, a signal or exec) while cupti was recording: what its "
      "devices did in the last ";
  const std::string source = "source cupti 1 on records\n";
  EXPECT_THAT(held(process + source + device, {0}),
              ElementsAre(sentence + "1.500 s may be missing."));
  EXPECT_THAT(held(process + source + device, {}), IsEmpty());
  // Without work of a device, one that called what gives it some; not one that met no device.
  EXPECT_THAT(held(process + source + "thread t\nspan launch 1000000000 2000000000 runtime\n", {0}),
              ElementsAre(sentence + "3.000 s may be missing."));
  EXPECT_THAT(held(process + source + "thread t\nspan a 1000000000 2000000000 native\n", {0}),
              IsEmpty());
  EXPECT_THAT(held(process + source + "device gpu\n", {0}), IsEmpty());
  EXPECT_THAT(held(process + "source cupti 1 off records\n" + device, {0}), IsEmpty());
  EXPECT_THAT(held(process + "source cupti 1 on\n" + device, {0}), IsEmpty());
  // A plugin that tells nothing of itself hands over at the end alone.
  EXPECT_THAT(held(process + "source chip \"\" on\n", {0}),
              ElementsAre("train (pid 7) ended (by _exit, a signal or exec) while chip was "
                          "recording: what its devices did in the last 3.000 s may be missing."));
  EXPECT_THAT(held(process + "source chip \"\" on\n", {}), IsEmpty());
  // Work that is told to end behind the process leaves nothing out.
  EXPECT_THAT(held(process + source + "device gpu\nspan k 1000000000 4100000000 device\n", {0}),
              ElementsAre(sentence + "0.000 s may be missing."));
  EXPECT_THAT(held(process + source + "source b 1 on is\n" + device, {1}),
              ElementsAre("train (pid 7) ended (by _exit, a signal or exec) while b was recording: "
                          "what its devices did in the last 1.500 s may be missing."));
}

TEST(Gaps, LossesAreAddedUpByReason) {
  EXPECT_THAT(
      GapsOf("process a pid=1 window=1000000000..9000000000\n"
             "thread t\nlose full 3 2000000000 3000000000\nlose disk 1 1500000000 1600000000\n"
             "thread u\nlose full 4 1700000000 2500000000\n"
             "process b window=5000000000..9000000000\n"
             "thread t\nlose full 1 4000000000 4500000000\nlose names 1 6000000000 6500000000\n"
             "thread u\nlose value 1 6000000000 6500000000\nlose value 1 6100000000 6200000000\n"),
      ElementsAre("1 event of a (pid 1) is missing (disk), between 0.500 s and 0.600 s after its "
                  "start.",
                  "8 events of 2 processes, such as a (pid 1), are missing (full), between 0.000 s "
                  "and 2.000 s after their starts.",
                  "1 new name of b found no room under the memory cap (what they mark stands under "
                  "\"(unnamed)\"), between 1.000 s and 1.500 s after its start.",
                  "2 values of b are missing (not a number that can be kept), between 1.000 s and "
                  "1.500 s after its start."));
  Trace trace = Parsed("process a window=0..9\nthread t\nlose full 2 1 2\nlose names 3 1 2\n");
  EXPECT_EQ(Missing(trace, trace.tracks[0].losses[0]), "2 events missing (full)");
  EXPECT_EQ(Missing(trace, trace.tracks[0].losses[1]), "3 new names missing (names)");
}

std::string Job(int size, const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) {
    text += "process r" + std::to_string(rank) + " window=0..9\nmeta rank " + std::to_string(rank) +
            "\nmeta world_size " + std::to_string(size) + "\n";
  }
  return text;
}

TEST(Gaps, RanksThatAreNotHereAreNamedUpToEight) {
  EXPECT_THAT(GapsOf(Job(2, {0, 1})), IsEmpty());
  EXPECT_THAT(GapsOf(Job(8, {3})), IsEmpty()) << "one stands for itself";
  EXPECT_THAT(GapsOf(Job(3, {0, 1})), ElementsAre("1 of the 3 ranks of the job is not here: 2."));
  EXPECT_THAT(GapsOf(Job(10, {0, 9})),
              ElementsAre("8 of the 10 ranks of the job are not here: 1, 2, 3, 4, 5, 6, 7, 8."));
  EXPECT_THAT(
      GapsOf(Job(11, {0, 10})),
      ElementsAre("9 of the 11 ranks of the job are not here: 1, 2, 3, 4, 5, 6, 7, 8, ..."));
}

TEST(Gaps, RepairsAreAddedUpOverTracks) {
  Trace trace = Parsed(
      "process a window=0..10\nthread t\nthread u life=0..8\nprocess b window=0..10 "
      "incomplete=killed\nthread t\n");
  int64_t n = 1;
  for (Track& track : trace.tracks) {
    track.clamped = n;
    track.unbalanced = 10 * n;
    track.guessed = 100 * n;
    track.unfinished = 1000 * n;
    n *= 2;
  }
  // Spans that are open where a complete process ends are no gap.
  EXPECT_THAT(
      Gaps(trace),
      ElementsAre(
          "Process b is incomplete: killed.",
          "7 time stamps were out of order and moved to the ones before them.",
          "70 spans had an end but no begin and are left out.",
          "6000 spans were still open when their threads' recording ended; they count until "
          "then.",
          "700 parts of spans that were suspended may go on with several of that name, and "
          "nothing tells which: they count for the one that had waited longest."));
  for (Track& track : trace.tracks) track.clamped = track.unbalanced = track.guessed = 0;
  trace.tracks[1].end_ns = 10;
  trace.tracks[2].unfinished = 0;
  trace.processes[1].complete = true;
  EXPECT_THAT(Gaps(trace), IsEmpty());
  trace.tracks[1].end_ns = 9;
  trace.tracks[1].unfinished = 1;
  EXPECT_THAT(Gaps(trace),
              ElementsAre("1 span was still open when its thread's recording ended; it "
                          "counts until then."));
}

// Clocks differ by up to a millisecond.
TEST(Gaps, WhatReachesBeyondTheWindowIsToldWhereItIsFarOut) {
  Trace trace = Parsed(
      "process a pid=1 window=10000000..20000000\nthread t life=0..90000000\n"
      "op x 9000000 21000000\n");
  EXPECT_THAT(Gaps(trace), IsEmpty());
  trace.tracks[0].spans.end_ns[0] = 21'000'001;
  EXPECT_THAT(Gaps(trace),
              ElementsAre("1 span of a (pid 1) reaches beyond what was recorded (up to 0.001 s "
                          "before it began, up to 0.001 s after it ended): the time outside is not "
                          "counted."));
  trace.tracks[0].ours = true;
  EXPECT_THAT(Gaps(trace), IsEmpty());
  EXPECT_THAT(
      GapsOf("process a pid=1 window=10000000..20000000\nthread t life=0..90000000\n"
             "op y 5000000 6000000\nop x 7000000 8000000\nop z 11000000 19000000\n"),
      ElementsAre("2 spans of a (pid 1) reach beyond what was recorded (up to 0.005 s before "
                  "it began): the time outside is not counted."));
  EXPECT_THAT(
      GapsOf("process a pid=1 window=10000000..20000000\nthread t life=0..90000000\n"
             "op x 12000000 25000000\nop y 31000000 33000000\n"),
      ElementsAre("2 spans of a (pid 1) reach beyond what was recorded (up to 0.013 s after "
                  "it ended): the time outside is not counted."));
}

TEST(Gaps, WhatReachesBeyondSeveralWindowsIsToldOnce) {
  const std::string spans = "thread t life=0..90000000\nop x 15000000 24000000\n";
  EXPECT_THAT(
      GapsOf("process a pid=1 window=10000000..20000000\n" + spans +
             "process b pid=2 window=17000000..20000000\n" + spans +
             "process c pid=3 window=10000000..30000000\n" + spans),
      ElementsAre("2 spans of 2 processes, such as a (pid 1), reach beyond what was recorded "
                  "(up to 0.002 s before they began, up to 0.004 s after they ended): the "
                  "time outside is not counted."));
}

// Of a span that is far out on one side, the other side is told from the first nanosecond on.
TEST(Gaps, OfASpanThatReachesOutBothSidesAreTold) {
  const auto told = [](int64_t begin, int64_t end) {
    Trace trace = Parsed(
        "process a pid=1 window=10000000..20000000\nthread t life=0..90000000\nop x 10000000 "
        "20000000\n");
    trace.tracks[0].spans.begin_ns[0] = begin;
    trace.tracks[0].spans.end_ns[0] = end;
    const std::vector<std::string> gaps = Gaps(trace);
    if (gaps.size() != 1) return std::string("none");
    const size_t open = gaps[0].find("recorded (") + 10;
    return gaps[0].substr(open, gaps[0].find("):") - open);
  };
  EXPECT_EQ(told(9'000'000, 21'000'000), "none");
  EXPECT_EQ(told(8'999'999, 20'000'000), "up to 0.001 s before it began");
  EXPECT_EQ(told(8'999'999, 20'000'001),
            "up to 0.001 s before it began, up to 0.000 s after it ended");
  EXPECT_EQ(told(10'000'000, 21'000'001), "up to 0.001 s after it ended");
  EXPECT_EQ(told(9'999'999, 21'000'001),
            "up to 0.000 s before it began, up to 0.001 s after it ended");
}

TEST(Gaps, WhatTheFileStatesStandsFirstAndOnce) {
  EXPECT_THAT(
      GapsOf("process a window=0..9 incomplete=killed\nprocess b window=0..9 "
             "incomplete=too\ngap Process b is incomplete: too.\ngap Another.\n"),
      ElementsAre("Process b is incomplete: too.", "Another.", "Process a is incomplete: killed."));
}

}  // namespace
}  // namespace crosscut::trace
