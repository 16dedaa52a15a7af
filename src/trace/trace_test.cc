#include "src/trace/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/trace/memory_marks.h"
#include "src/trace/text.h"

namespace crosscut::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Layers, HaveNames) {
  const char* names[] = {"",     "python", "framework", "runtime",  "simulator", "data",
                         "comm", "native", "idle",      "overhead", "device",    "control"};
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(LayerName(static_cast<Layer>(i)), names[i]);
    Layer layer = Layer::kControl;
    if (i == 11) layer = Layer::kNone;
    EXPECT_TRUE(ParseLayer(names[i], &layer));
    EXPECT_EQ(layer, static_cast<Layer>(i));
  }
  EXPECT_EQ(LayerName(static_cast<Layer>(12)), "");
  Layer layer = Layer::kData;
  EXPECT_TRUE(ParseLayer("none", &layer));
  EXPECT_EQ(layer, Layer::kNone);
  layer = Layer::kData;
  EXPECT_FALSE(ParseLayer("Python", &layer));
  EXPECT_EQ(layer, Layer::kData);
}

TEST(StepLevels, HaveNamesAndDetails) {
  const char* names[] = {"control", "boundary", "operators", "everything", "marks"};
  const int details[] = {0, 2, 3, 4, 1};
  for (uint8_t level = 0; level < 5; ++level) {
    EXPECT_EQ(StepLevelName(level), names[level]);
    EXPECT_EQ(DetailOf(level), details[level]);
    EXPECT_EQ(LevelOfDetail(details[level]), level);
    Step step;
    step.level = level;
    EXPECT_EQ(step.left_out(), level == 4);
    EXPECT_EQ(step.profiled(), level != 0 && level != 4);
  }
  EXPECT_EQ(StepLevelName(5), "everything");
}

TEST(Devices, OfMemoryHavePyTorchsNames) {
  EXPECT_EQ(MemoryDeviceName(0, -1), "cpu");
  EXPECT_EQ(MemoryDeviceName(1, 0), "cuda:0");
  EXPECT_EQ(MemoryDeviceName(6, 3), "hip:3");
  EXPECT_EQ(MemoryDeviceName(13, -1), "mps");
  EXPECT_EQ(MemoryDeviceName(20, 1), "privateuseone:1");
  EXPECT_EQ(MemoryDeviceName(21, -1), "device type 21");
  EXPECT_EQ(MemoryDeviceName(-1, 2), "device type -1:2");
}

TEST(Processes, AreKnownByTheirProgramElseByTheirKey) {
  auto trace = ParseText("process p1 pid=7 window=0..9 name=train.py\nprocess p2 window=0..9\n");
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->title({0}), "train.py (pid 7)");
  EXPECT_EQ(trace->title({1}), "p2");
  trace->processes[0].name = {};
  EXPECT_EQ(trace->title({0}), "p1 (pid 7)");
  trace->processes[0].key = {};
  EXPECT_EQ(trace->title({0}), "p7");
}

TEST(Processes, HaveTheirTracksInOrder) {
  auto trace = ParseText(
      "process a window=0..9\nthread 0\nprocess b window=0..9\nprocess c window=0..9\nthread 1\n"
      "thread 2\nthread 3\n");
  ASSERT_TRUE(trace.ok());
  trace->tracks[2].process = {0};
  trace->tracks[3].process = {};
  const auto of = [&](uint32_t process) {
    const TracksByProcess all(*trace);
    const auto tracks = all.of({process});
    return std::vector<uint32_t>(tracks.begin(), tracks.end());
  };
  EXPECT_THAT(of(0), ElementsAre(0, 2));
  EXPECT_THAT(of(1), IsEmpty());
  EXPECT_THAT(of(2), ElementsAre(1));
  trace->tracks[3].process = {3};  // there is none
  EXPECT_THAT(of(2), ElementsAre(1));
}

TEST(Processes, HaveAPlanWhereTheirStepsDiffer) {
  const auto has = [](std::vector<uint8_t> levels) {
    Process process;
    for (const uint8_t level : levels) {
      process.steps.emplace_back();
      process.steps.back().level = level;
    }
    return HasStepPlan(process);
  };
  EXPECT_FALSE(has({}));
  EXPECT_FALSE(has({2, 2}));
  EXPECT_TRUE(has({2, 2, 3}));
  EXPECT_TRUE(has({0, 2, 2}));
}

TEST(Spans, HaveTheEndThatTheFileStates) {
  auto trace = ParseText("process a window=0..90\nthread t\nop a 0 10\nop b 20 30\nop c 40 50\n");
  ASSERT_TRUE(trace.ok());
  Spans& spans = trace->tracks[0].spans;
  spans.stated_ends = {{0, 12}, {2, 55}};
  EXPECT_EQ(spans.StatedEnd(0), 12);
  EXPECT_EQ(spans.StatedEnd(1), 30);
  EXPECT_EQ(spans.StatedEnd(2), 55);
}

TEST(Arguments, MayBeNumbersThatAreNoIntegers) {
  Trace trace;
  const auto real = [&](const char* text, bool json) -> std::string {
    Arg arg;
    arg.value = trace.strings.Intern(text).value;
    arg.is_text = true;
    arg.is_json = json;
    double number = -1;
    return trace.RealOf(arg, &number) ? std::to_string(number) : "none";
  };
  EXPECT_EQ(real("2.5", true), "2.500000");
  EXPECT_EQ(real("1e3", true), "1000.000000");
  for (const char* none : {"", "x", "2.5x", "[2.5]", "1e999"}) EXPECT_EQ(real(none, true), "none");
  EXPECT_EQ(real("2.5", false), "none");
}

TEST(Memory, MarksHaveEachOfTheirNumbers) {
  auto trace = ParseText(
      "process a window=0..9\nthread t\nspan x 0 9\ninstant [memory] 1\narg Bytes -5\n"
      "arg \"Total Allocated\" 6\narg \"Total Reserved\" 7\narg \"Device Type\" 1\n"
      "arg \"Device Id\" 2\narg Addr 9\ninstant [memory] 2\narg Bytes five\narg Allocator pool\n");
  ASSERT_TRUE(trace.ok());
  const MemoryMarks marks(*trace);
  const MemoryMark one = marks.Read(trace->tracks[0].instant_args, 0);
  EXPECT_EQ(one.bytes, -5);
  EXPECT_EQ(one.total, 6);
  EXPECT_EQ(one.reserved, 7);
  EXPECT_EQ(one.type, 1);
  EXPECT_EQ(one.index, 2);
  EXPECT_EQ(one.address, 9);
  EXPECT_EQ(marks.DeviceText(one), "cuda:2");
  const MemoryMark two = marks.Read(trace->tracks[0].instant_args, 1);
  EXPECT_EQ(two.bytes, MemoryMark().bytes);
  EXPECT_EQ(marks.DeviceText(two), "pool");
}

}  // namespace
}  // namespace crosscut::trace
