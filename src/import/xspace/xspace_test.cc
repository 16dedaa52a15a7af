// XSpaces as TensorFlow and JAX write them, made by hand, and what becomes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "src/import/importer.h"
#include "src/import/xla_layers.h"
#include "src/xspace/writer.h"

namespace crosscut::import {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using trace::Layer;
using trace::TrackKind;
using xspace::LineWriter;
using xspace::PlaneWriter;
using xspace::SpaceWriter;

constexpr int64_t kStart = 1'770'000'000'000'000'000;

class XSpaceImportTest : public testing::Test {
 protected:
  ~XSpaceImportTest() override {
    if (!path_.empty()) unlink(path_.c_str());
  }
  void Environment(int64_t start, int64_t stop) {
    PlaneWriter& plane = space_.AddPlane(9, "Task Environment");
    plane.Int64Stat(plane.StatName("profile_start_time"), start);
    plane.Int64Stat(plane.StatName("profile_stop_time"), stop);
  }
  trace::Trace Imported(size_t cut = 0) {
    std::string bytes = *space_.Finish();
    bytes.resize(bytes.size() - cut);
    return OfBytes(bytes);
  }
  trace::Trace OfBytes(const std::string& bytes) {
    char name[] = "/tmp/crosscut-xspace-XXXXXX";
    close(mkstemp(name));
    path_ = name;
    std::ofstream(path_, std::ios::binary) << bytes;
    auto trace = Import(path_);
    EXPECT_TRUE(trace.ok()) << trace.status().message();
    return std::move(*trace);
  }
  static std::vector<std::string> Spans(const trace::Trace& trace, const trace::Track& track) {
    std::vector<std::string> out;
    for (size_t i = 0; i < track.spans.size(); ++i) {
      out.push_back(std::string(trace.name_text(track.spans.name[i])) + " " +
                    std::to_string(track.spans.begin_ns[i]) + "-" +
                    std::to_string(track.spans.end_ns[i]));
    }
    return out;
  }

  SpaceWriter space_;
  std::string path_;
};

TEST_F(XSpaceImportTest, AnEdgeOfTheProfileThatNoClockShowsIsNoWindow) {
  for (const uint64_t stop : {uint64_t{1} << 63, UINT64_MAX, uint64_t{1} << 62}) {
    space_ = {};
    Environment(kStart, static_cast<int64_t>(stop));
    PlaneWriter& host = space_.AddPlane(1, "/host:CPU");
    host.AddLine(77, "python", kStart).Event(host.EventName("a"), 0, 5'000'000);
    const trace::Trace trace = Imported();
    EXPECT_EQ(trace.processes[0].start_ns, kStart);
    EXPECT_EQ(trace.processes[0].end_ns, kStart + 5000);
    EXPECT_THAT(trace.gaps, ElementsAre("Of the file, 1 edge of the profile is a time that no "
                                        "clock shows: its window is that of its events there."));
    unlink(path_.c_str());
  }
}

TEST_F(XSpaceImportTest, HostAndDeviceLinesBecomeTracksAndLaunchesArrows) {
  PlaneWriter& host = space_.AddPlane(1, "/host:CPU");
  LineWriter& python = host.AddLine(77, "python", 1000);
  python.Event(host.EventName("$train.py:3 step"), 0, 9'000'000);
  python.Event(host.EventName("cuLaunchKernel"), 1'000'000, 500'000);
  python.Uint64Stat(host.StatName("correlation_id"), 5);
  PlaneWriter& device = space_.AddPlane(2, "/device:GPU:1");
  LineWriter& stream = device.AddLine(13, "Stream #13(Kernel)", 1000);
  stream.Event(device.EventName("gemm"), 2'000'000, 4'000'400);
  stream.Uint64Stat(device.StatName("correlation_id"), 5);
  space_.AddHostname("box");
  const trace::Trace trace = Imported();
  ASSERT_EQ(trace.tracks.size(), 2u);
  EXPECT_EQ(trace.text(trace.processes.at(0).name), "box");
  EXPECT_EQ(trace.tracks[0].kind, TrackKind::kThread);
  EXPECT_EQ(trace.tracks[0].os_id, 77);
  EXPECT_EQ(trace.tracks[0].device, -1);
  EXPECT_THAT(Spans(trace, trace.tracks[0]),
              ElementsAre("$train.py:3 step 1000-10000", "cuLaunchKernel 2000-2500"));
  EXPECT_EQ(trace.tracks[1].kind, TrackKind::kDevice);
  EXPECT_EQ(trace.tracks[1].device, 1);
  EXPECT_THAT(Spans(trace, trace.tracks[1]), ElementsAre("gemm 3000-7000"));
  ASSERT_EQ(trace.flows.size(), 1u);
  EXPECT_EQ(trace.flows[0].from, 1u);
  EXPECT_EQ(trace.flows[0].to_track, (trace::TrackId{1}));
  EXPECT_EQ(trace.processes[0].start_ns, 1000);
  EXPECT_EQ(trace.processes[0].end_ns, 10000);
}

TEST_F(XSpaceImportTest, WorkThatOverlapsWithoutNestingLiesInNoOtherWork) {
  PlaneWriter& device = space_.AddPlane(2, "/device:GPU:0");
  const auto add = [&](int64_t id, std::vector<std::pair<int64_t, int64_t>> times) {
    LineWriter& line = device.AddLine(id, "Stream #" + std::to_string(id), 1000);
    for (const auto& [begin, end] : times) {
      line.Event(device.EventName("gemm"), begin * 1000, (end - begin) * 1000);
    }
  };
  add(1, {{0, 100}, {10, 50}, {20, 30}});             // it nests
  add(2, {{0, 100}, {10, 50}, {60, 120}, {70, 80}});  // two streams, or copies beside kernels
  const trace::Trace trace = Imported();
  ASSERT_EQ(trace.tracks.size(), 4u);
  EXPECT_THAT(Spans(trace, trace.tracks[0]),
              ElementsAre("gemm 1000-1100", "gemm 1010-1050", "gemm 1020-1030"));
  EXPECT_EQ(trace.tracks[0].spans.parent[2], 1u);
  EXPECT_THAT(Spans(trace, trace.tracks[1]), ElementsAre("gemm 1000-1100"));
  EXPECT_THAT(Spans(trace, trace.tracks[2]), ElementsAre("gemm 1010-1050", "gemm 1060-1120"));
  EXPECT_THAT(Spans(trace, trace.tracks[3]), ElementsAre("gemm 1070-1080"));
  EXPECT_EQ(trace.text(trace.tracks[3].name), "Stream #2 (3)");
}

TEST_F(XSpaceImportTest, NormalisedTimesCountFromTheStartOfTheProfile) {
  Environment(kStart, kStart + 50'000);
  PlaneWriter& host = space_.AddPlane(1, "/host:CPU");
  host.AddLine(1, "python", 7).Event(host.EventName("op"), 0, 1'000'000);
  const trace::Trace trace = Imported();
  EXPECT_EQ(trace.processes.at(0).start_ns, 0);
  EXPECT_EQ(trace.processes[0].end_ns, 50'000);
  EXPECT_EQ(trace.realtime_offset_ns, kStart);
  EXPECT_THAT(Spans(trace, trace.tracks.at(0)), ElementsAre("op 7-1007"));
}

TEST_F(XSpaceImportTest, WhatOverlapsWithoutNestingStandsOnALaneOfItsOwn) {
  PlaneWriter& device = space_.AddPlane(2, "/device:GPU:0");
  LineWriter& stream = device.AddLine(3, "Stream #3", 0);
  stream.Event(device.EventName("a"), 0, 10'000);
  stream.Event(device.EventName("b"), 5'000, 10'000);
  stream.Event(device.EventName("c"), 10'000, 2'000);
  const trace::Trace trace = Imported();
  ASSERT_EQ(trace.tracks.size(), 2u);
  EXPECT_THAT(Spans(trace, trace.tracks[0]), ElementsAre("a 0-10", "c 10-12"));
  EXPECT_THAT(Spans(trace, trace.tracks[1]), ElementsAre("b 5-15"));
  EXPECT_EQ(trace.text(trace.tracks[1].name), "Stream #3 (2)");
}

TEST_F(XSpaceImportTest, PlanesOfDifferentDevicesHaveDifferentNumbers) {
  const std::vector<std::pair<const char*, int64_t>> planes = {
      {"/device:CUSTOM:CHIP_A", 0}, {"/device:GPU:1", 1},        {"/device:CUSTOM:CHIP_B", 2},
      {"/device:TPU:1", 1'000'000}, {"/device:GPU:1 (XLA)", 1},  {"/device:CUSTOM:x:100", 100},
      {"/device:NPU:1", 1'000'001}, {"/device:CUSTOM:CHIP_A", 0}};
  int64_t id = 0;
  for (const auto& [name, number] : planes) {
    PlaneWriter& plane = space_.AddPlane(++id, name);
    plane.AddLine(1, "queue", 0).Event(plane.EventName("k"), 0, 1000);
  }
  const trace::Trace trace = Imported();
  ASSERT_EQ(trace.tracks.size(), planes.size());
  for (size_t i = 0; i < planes.size(); ++i) {
    EXPECT_EQ(trace.tracks[i].device, planes[i].second) << planes[i].first;
    EXPECT_EQ(trace.text(trace.tracks[i].device_name), planes[i].first);
  }
}

TEST_F(XSpaceImportTest, LinesThatWereDerivedFromOthersAreNotCountedTwice) {
  PlaneWriter& device = space_.AddPlane(2, "/device:GPU:0");
  device.AddLine(3, "Stream #3", 0).Event(device.EventName("k"), 0, 1000);
  for (const char* derived : {"XLA Ops", "XLA Modules", "Steps", "Framework Ops"}) {
    device.AddLine(0xdeadbeef, derived, 0).Event(device.EventName("k"), 0, 1000);
  }
  PlaneWriter& tpu = space_.AddPlane(3, "/device:TPU:0");
  tpu.AddLine(1, "XLA Ops", 0).Event(tpu.EventName("fusion"), 0, 1000);
  EXPECT_EQ(Imported().tracks.size(), 2u);
}

TEST_F(XSpaceImportTest, StepsAreTheRootsThatHaveANumber) {
  PlaneWriter& host = space_.AddPlane(1, "/host:CPU");
  LineWriter& python = host.AddLine(1, "python", 0);
  for (int i = 0; i < 3; ++i) {
    python.Event(host.EventName("train"), i * 10'000, 8'000);
    python.Int64Stat(host.StatName("_r"), 1);
    python.Int64Stat(host.StatName("step_num"), 40 + i);
  }
  const trace::Trace trace = Imported();
  ASSERT_EQ(trace.processes.at(0).steps.size(), 3u);
  EXPECT_EQ(trace.processes[0].steps[2].number, 42);
  EXPECT_EQ(trace.text(trace.processes[0].steps[2].kind), "train");
  EXPECT_EQ(trace.processes[0].steps[2].end_ns, 28);
}

TEST_F(XSpaceImportTest, WhatStandsBeforeADamageIsKeptAndTheDamageIsTold) {
  PlaneWriter& host = space_.AddPlane(1, "/host:CPU");
  host.AddLine(1, "python", 0).Event(host.EventName("op"), 0, 1000);
  PlaneWriter& device = space_.AddPlane(2, "/device:GPU:0");
  device.AddLine(3, "Stream #3", 0).Event(device.EventName("k"), 0, 1000);
  const trace::Trace trace = Imported(/*cut=*/5);
  EXPECT_EQ(trace.tracks.size(), 1u);
  EXPECT_TRUE(trace.damaged);
  EXPECT_THAT(trace.gaps, ElementsAre(HasSubstr("byte ")));
}

TEST_F(XSpaceImportTest, WarningsOfTheWriterAreTold) {
  PlaneWriter& host = space_.AddPlane(1, "/host:CPU");
  host.AddLine(1, "python", 0).Event(host.EventName("op"), 0, 1000);
  space_.AddWarning("3 events were dropped");
  EXPECT_THAT(Imported().gaps, ElementsAre("Its writer says: 3 events were dropped"));
}

TEST_F(XSpaceImportTest, TimesThatNoClockShowsAreCounted) {
  PlaneWriter& host = space_.AddPlane(1, "/host:CPU");
  host.AddLine(1, "python", 0).Event(host.EventName("op"), 0, 1000);
  host.AddLine(2, "far", int64_t{1} << 62).Event(host.EventName("op"), 0, 1000);
  host.AddLine(3, "near", 0).Event(host.EventName("op"), int64_t{1} << 62, 1000);
  EXPECT_THAT(Imported().gaps, ElementsAre("Of the file, 1 line and 1 event state times that no "
                                           "clock shows: they are left out."));
}

TEST_F(XSpaceImportTest, StepsThatOverlapEndWhereTheNextBeginsAndAreCounted) {
  PlaneWriter& host = space_.AddPlane(1, "/host:CPU");
  for (int i = 0; i < 2; ++i) {
    LineWriter& line = host.AddLine(i + 1, "python", 0);
    line.Event(host.EventName("train"), (2 - i) * 5000, 7000);
    line.Int64Stat(host.StatName("_r"), 1);
    line.Int64Stat(host.StatName("step_num"), i);
  }
  const trace::Trace trace = Imported();
  const std::vector<trace::Step>& steps = trace.processes.at(0).steps;
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].end_ns, 10);
  EXPECT_EQ(steps[1].end_ns, 17);
  EXPECT_THAT(trace.gaps, ElementsAre("Of the file, 1 step is not over where the next begins: "
                                      "it ends there."));
}

// A field of a message whose value is a message or a text; all lengths are below 128.
std::string Field(int number, const std::string& value) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(value.size())} + value;
}
std::string Field(int number, char value) { return {static_cast<char>(number << 3), value}; }

TEST_F(XSpaceImportTest, SumsWithoutATimeAreCounted) {
  const std::string timed = Field(1, '\1') + Field(2, '\0') + Field(3, '\7');
  const std::string sum = Field(1, '\1') + Field(5, '\3') + Field(3, '\7');
  const std::string line = Field(1, '\1') + Field(4, timed) + Field(4, sum) + Field(4, sum);
  const trace::Trace trace = OfBytes(Field(1, Field(2, "/host:CPU") + Field(3, line)));
  EXPECT_EQ(trace.tracks.at(0).spans.size(), 1U);
  EXPECT_THAT(trace.gaps,
              ElementsAre("Of the file, 2 events are sums without a time: they are left "
                          "out."));
}

TEST_F(XSpaceImportTest, WhatOverlapsMoreThanThereIsRoomForIsCutOffAndCounted) {
  PlaneWriter& device = space_.AddPlane(2, "/device:GPU:0");
  LineWriter& stream = device.AddLine(3, "Stream #3", 0);
  for (int i = 0; i < 1027; ++i) stream.Event(device.EventName("a"), i * 1000, 9'000'000);
  const trace::Trace trace = Imported();
  EXPECT_EQ(trace.tracks.size(), 1024U);
  EXPECT_THAT(trace.gaps, ElementsAre("Of the file, 3 events overlap more others than there is "
                                      "room for: they are cut off."));
}

TEST_F(XSpaceImportTest, MarksOfThreadPoolsAndEndsOfThunksAreNoSpans) {
  PlaneWriter& host = space_.AddPlane(1, "/host:CPU");
  LineWriter& pool = host.AddLine(9, "tf_XLAPjRtCpuClient/9", 0);
  pool.Event(host.EventName("ThreadpoolListener::StartRegion"), 0, 0);
  pool.Event(host.EventName("dot.1"), 1000, 9000);
  pool.Event(host.EventName("end: dot.1"), 8000, 1500);
  const trace::Trace trace = Imported();
  ASSERT_EQ(trace.tracks.size(), 1u);
  EXPECT_THAT(Spans(trace, trace.tracks[0]), ElementsAre("dot.1 1-10"));
}

// The folder of real traces that CROSSCUT_TRACE_CORPUS names.
TEST(XSpaceCorpus, JaxOnEightDevicesGivesTheExpectedSums) {
  const char* folder = getenv("CROSSCUT_TRACE_CORPUS");
  const std::string path = std::string(folder ? folder : "") + "/jax-mi300x8-conv.xplane.pb";
  if (folder == nullptr || access(path.c_str(), R_OK) != 0) {
    GTEST_SKIP() << "CROSSCUT_TRACE_CORPUS names no folder with " << path;
  }
  const auto trace = Import(path);
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  std::vector<int64_t> sums(8), counts(8);
  for (const trace::Track& track : trace->tracks) {
    if (track.kind != TrackKind::kDevice) continue;
    for (size_t i = 0; i < track.spans.size(); ++i) {
      sums.at(track.device) += track.spans.end_ns[i] - track.spans.begin_ns[i];
      ++counts[track.device];
    }
  }
  EXPECT_THAT(counts, ElementsAre(60, 25, 25, 25, 25, 25, 25, 25));
  EXPECT_EQ(sums[0], 4'000'165);
  EXPECT_EQ(sums[1], 3'345'845);
}

}  // namespace
}  // namespace crosscut::import
