#include "src/export/left_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "src/export/exporter.h"
#include "src/export/testing/memory_sink.h"
#include "src/trace/text.h"

namespace crosscut::exporting {
namespace {

using ::testing::ElementsAre;

// Of a span that a file of Chrome's states with an argument and two fields of its own.
TEST(LeftOut, FieldsBesideArgumentsAreToldByAllThatHaveNoRoomForThem) {
  Result<trace::Trace> trace = trace::ParseText(
      "process p pid=7 window=0..100\nthread main tid=7 main lead\nspan a 0 10 framework\n");
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  trace::Args& args = trace->tracks[0].args;
  for (const char* key : {"shape", "tdur", "cname"}) {
    trace::Arg arg{trace->strings.Intern(key)};
    arg.value = 5;
    arg.beside = arg.key != trace->strings.Find("shape");
    args.Add(0, arg);
  }
  const auto told = [&](Result<Gaps> (*write)(const trace::Trace&, Sink*)) {
    std::string out;
    const auto sink = MemorySink(&out);
    return write(*trace, sink.get())->of_file;
  };
  const auto fields =
      ElementsAre("The exported file has no room for 2 fields of spans beside their arguments.");
  EXPECT_THAT(told(WriteChromeJson), fields);
  EXPECT_THAT(told(WritePerfetto), fields);
  EXPECT_THAT(told(WriteXSpace), fields);
  EXPECT_THAT(told(WriteSpeedscope),
              ElementsAre("The exported file has no room for 1 argument, 2 fields of spans beside "
                          "their arguments."));
}

// Of each part another number.
trace::Trace OfEverything() {
  std::string text = "process p pid=7 window=0..1000\nprobe op 10 5 12 18 100\n";
  const auto times = [&](int count, const std::string& line) {
    for (int i = 0; i < count; ++i) text += line + "\n";
  };
  text += "pause 900 910\npause 920 930\n";
  text += "thread main tid=7 main lead base=python\n";
  for (int i = 0; i < 3; ++i) {
    const std::string begin = std::to_string(i * 20), end = std::to_string(i * 20 + 10);
    text += "span a " + begin + " " + end + " runtime\n";
    if (i < 2) text += "arg x 1\narg y 2\n";
    if (i == 0) text += "out 1 5\nout 2 5\nout 3 6\n";
    if (i == 2) text += "in 2 45\nin 3 45\n";
  }
  text += "out 4 500\n";
  times(1, "base 600 idle");
  text += "base 700 none\n";
  for (int i = 0; i < 7; ++i) {
    text += "step step " + std::to_string(i * 10) + " " + std::to_string(i * 10 + 10) + "\n";
  }
  for (int i = 0; i < 8; ++i) {
    text += "phase ph " + std::to_string(i * 10) + " " + std::to_string(i * 10 + 10) + "\n";
  }
  times(9, "instant [memory] 800");
  times(2, "instant \"[memory unseen]\" 801");
  times(12, "instant [sample] 802");
  times(13, "instant other 803");
  times(14, "lose full 1 2 3");
  times(15, "count queue 12 3");
  text += "device gpu device=0 stream=7\n";
  for (int i = 0; i < 4; ++i) {
    text += "span k " + std::to_string(100 + i * 10) + " " + std::to_string(105 + i * 10) + "\n";
    if (i == 0) text += "arg z 3\nin 1 102\n";
  }
  text += "thread other\nin 4 500\n";
  auto trace = trace::ParseText(text);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  return std::move(*trace);
}

TEST(LeftOut, EachPartIsToldWithItsCount) {
  const trace::Trace trace = OfEverything();
  const auto left_out = [&](uint32_t parts) {
    const Gaps gaps = GapsOf(trace, ~parts);
    EXPECT_LE(gaps.of_file.size(), 1u);
    std::string told = gaps.of_file.empty() ? "" : gaps.of_file[0];
    const std::string head = "The exported file has no room for ";
    EXPECT_TRUE(told.empty() || (told.starts_with(head) && told.ends_with('.'))) << told;
    return told.empty() ? "" : told.substr(head.size(), told.size() - head.size() - 1);
  };
  EXPECT_EQ(left_out(0), "");
  const std::pair<uint32_t, const char*> kParts[] = {
      {kSpans, "3 spans of threads"},
      {kWork, "4 spans of devices"},
      {kTimes, "7 spans' times (there are sums)"},
      {kArguments, "5 arguments"},
      {kSteps, "7 steps"},
      {kMemory, "11 changes of memory"},
      {kSamples, "12 samples"},
      {kMarks, "13 marks"},
      {kCounters, "15 values of counters"},
      {kLaunches, "1 arrow to devices"},
      {kArrows, "2 arrows between threads"},
      {kLoose, "1 arrow with an end in no span"},
      {kPhases, "8 phases"},
      {kPauses, "2 pauses"},
      {kLayers, "2 layers outside spans"},
      {kLosses, "14 places where events are missing"},
      {kProbes, "1 figure of what Crosscut's probes cost, so that no time is corrected"},
      {kGaps, "1 sentence about what is missing"},
  };
  std::string all;
  for (const auto& [part, words] : kParts) {
    EXPECT_EQ(left_out(part), words);
    if (part != kTimes && part != kArguments) all += (all.empty() ? "" : ", ") + std::string(words);
  }
  EXPECT_EQ(left_out(~uint32_t{0}), all) << "spans for which there is no room have no times";
  EXPECT_EQ(left_out(kWork | kTimes | kArguments),
            "4 spans of devices, 3 spans' times (there are sums), 4 arguments");
  const Gaps gaps = GapsOf(trace, 0);
  ASSERT_EQ(gaps.of_recording.size(), 1u);
  EXPECT_THAT(gaps.all(), ElementsAre(gaps.of_recording[0], gaps.of_file[0]));
  std::string json = "x";
  Gaps{{"a\"b", "c"}, {"d"}}.AppendJson(&json);
  EXPECT_EQ(json, R"(x["a\"b", "c", "d"])");
  json.clear();
  Gaps{}.AppendJson(&json);
  EXPECT_EQ(json, "[]");
}

}  // namespace
}  // namespace crosscut::exporting
