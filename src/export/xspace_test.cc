// What WriteXSpace writes, as the reader of XSpaces finds it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/export/exporter.h"
#include "src/export/testing/memory_sink.h"
#include "src/trace/text.h"
#include "src/xspace/reader.h"

namespace crosscut::exporting {
namespace {

using testing::ElementsAre;
using xspace::Event;
using xspace::Line;
using xspace::Plane;
using xspace::Stat;

constexpr const char* kTrace = R"(
process train pid=41 window=0..1000
gap two events are missing
realtime 5000
thread main tid=41 main
step step 50 950 number=3
span launch 100 300 runtime
arg bytes 12
out 7 110
device gpu0 device=0 stream=5
span gemm 320 900 device
in 7 320
)";

std::vector<std::string> Told(std::string_view bytes) {
  std::vector<std::string> out;
  const Status status = xspace::ForEachPlane(bytes, [&](const Plane& plane) {
    out.push_back("plane " + std::string(plane.name));
    return plane.ForEachLine([&](const Line& line) {
      out.push_back("line " + std::to_string(line.id) + " " + std::string(line.name));
      return xspace::ForEachEvent(line, [&](const Event& event) {
        std::string text(plane.event_metadata(event.metadata_id).name);
        text += " " + std::to_string(line.timestamp_ns * 1000 + event.offset_ps) + "+" +
                std::to_string(event.duration_ps);
        Status read = xspace::ForEachEventStat(event.bytes, [&](const Stat& stat) {
          text += " " + std::string(plane.stat_name(stat.metadata_id)) + "=";
          const auto id = static_cast<int64_t>(stat.number);
          text += stat.type == Stat::Type::kRef ? std::string(plane.stat_name(id))
                                                : std::to_string(stat.number);
          return Status();
        });
        out.push_back(text);
        return read;
      });
    });
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

std::string Written(std::string_view text, decltype(&WriteXSpace) write = WriteXSpace) {
  const Result<trace::Trace> trace = trace::ParseText(text);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  std::string bytes;
  const auto sink = MemorySink(&bytes);
  const Status status = write(*trace, sink.get()).status();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(sink->Close().ok());
  return bytes;
}

TEST(XSpaceExport, PutsProcessesThreadsStepsAndDevicesWhereReadersLook) {
  const std::string bytes = Written(kTrace);
  EXPECT_THAT(Told(bytes),
              ElementsAre("plane /host:CPU", "line 1000000000 steps",
                          "step 5050000+900000 _r=1 _pt=0 _p=72057594037927936 step_num=3",
                          "line 41 main (main)",
                          "launch 5100000+200000 layer=runtime correlation_id=1 _ct=0 "
                          "_c=72057594037927936 bytes=12",
                          "plane /device:CUSTOM:crosscut:100", "line 5 gpu0",
                          "gemm 5320000+580000 layer=device correlation_id=1"));
  EXPECT_THAT(*xspace::SpaceTexts(bytes, xspace::Texts::kWarnings),
              ElementsAre("two events are missing"));
  EXPECT_THAT(*xspace::SpaceTexts(bytes, xspace::Texts::kHostnames), ElementsAre("train"));
}

TEST(XSpaceExport, EveryFurtherProcessHasAPlaneOfItsOwnName) {
  const std::string bytes = Written(
      "process a pid=1 window=0..10\nthread t tid=1\n"
      "process b pid=2 window=0..10\nthread t tid=2\n");
  EXPECT_THAT(Told(bytes),
              ElementsAre("plane /host:CPU", "line 1 t", "plane /host:CPU-2", "line 2 t"));
}

TEST(XSpaceExport, BesideTensorFlowsPlanesNamesAndIdsAreOthersAndTheirsAreTheRoots) {
  const std::string bytes = Written(kTrace, WriteXSpaceBeside);
  EXPECT_THAT(Told(bytes),
              ElementsAre("plane /host:CPU-crosscut", "line 1000000000 steps",
                          "step 5050000+900000 step_num=3", "line 41 main (main)",
                          "launch 5100000+200000 layer=runtime correlation_id=1 bytes=12",
                          "plane /device:CUSTOM:crosscut:100", "line 5 gpu0",
                          "gemm 5320000+580000 layer=device correlation_id=1"));
  const Status status = xspace::ForEachPlane(bytes, [](const Plane& plane) {
    EXPECT_GE(plane.id, 100);
    return Status();
  });
  EXPECT_TRUE(status.ok());
}

TEST(XSpaceExport, WorkOfAGpuStandsWhereXProfLooksForIt) {
  Result<trace::Trace> parsed = trace::ParseText(R"(
process train pid=41 window=0..1000
meta deviceProperties [{"id": 1, "name": "NVIDIA X", "totalGlobalMem": 80, "numSms": 7}]
thread main tid=41 main
span aten::mm 50 400 framework
span launch 100 300 runtime
out 7 110
device gpu0 device=1 stream=5
span gemm 320 900 device
arg grid_x 64
arg block_x 128
arg registers 40
in 7 320
)");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  trace::Trace trace = std::move(*parsed);
  trace.tracks[1].device_name = trace.strings.Intern("NVIDIA X");
  std::string bytes;
  const auto sink = MemorySink(&bytes);
  ASSERT_TRUE(WriteXSpace(trace, sink.get()).ok());
  std::vector<std::string> stats, texts;
  const Status status = xspace::ForEachPlane(bytes, [&](const Plane& plane) {
    if (plane.name != "/device:GPU:1") return Status();
    Status read = plane.ForEachStat([&](const Stat& stat) {
      stats.push_back(std::string(plane.stat_name(stat.metadata_id)) + "=" +
                      (stat.text.empty() ? std::to_string(stat.number) : std::string(stat.text)));
      return Status();
    });
    if (!read.ok()) return read;
    return plane.ForEachLine([&](const Line& line) {
      return xspace::ForEachEvent(line, [&](const Event& event) {
        return xspace::ForEachEventStat(event.bytes, [&](const Stat& stat) {
          if (stat.type == Stat::Type::kText) texts.emplace_back(stat.text);
          return Status();
        });
      });
    });
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(stats, ElementsAre("memory_size=80", "core_count=7", "device_vendor=NVIDIA"));
  EXPECT_THAT(texts, ElementsAre("regs:40 grid:64,1,1 block:128,1,1", "aten::mm"));
}

TEST(XSpaceExport, APlaneKeepsTheNameThatItHadAndNobodyElseGetsIt) {
  Result<trace::Trace> parsed = trace::ParseText(R"(
process a pid=41 window=0..10
device q device=0 stream=5
span gemm 3 9 device
device chip device=1 stream=6
span conv 3 9 device
device gpu device=2 stream=7
span add 3 9 device
process b pid=42 window=0..10
device chip device=0 stream=6
span conv 3 9 device
)");
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  trace::Trace trace = std::move(*parsed);
  const char* names[] = {"NVIDIA X", "/device:CUSTOM:CHIP_A", "/device:GPU:0",
                         "/device:CUSTOM:CHIP_A"};
  for (int i = 0; i < 4; ++i) trace.tracks[i].device_name = trace.strings.Intern(names[i]);
  const auto planes = [&](decltype(&WriteXSpace) write) {
    std::string bytes;
    const auto sink = MemorySink(&bytes);
    EXPECT_TRUE(write(trace, sink.get()).ok());
    std::vector<std::string> told;
    for (const std::string& line : Told(bytes)) {
      if (!line.starts_with("line ") && line.find("/host") == line.npos) told.push_back(line);
    }
    return told;
  };
  EXPECT_THAT(planes(WriteXSpace),
              ElementsAre("plane /device:GPU:1", "gemm 3000+6000 layer=device",
                          "plane /device:CUSTOM:CHIP_A", "conv 3000+6000", "plane /device:GPU:0",
                          "add 3000+6000", "plane /device:CUSTOM:CHIP_A-42", "conv 3000+6000"));
  EXPECT_THAT(planes(WriteXSpaceBeside), testing::Each(testing::Not(testing::HasSubstr("CHIP_A"))));
}

TEST(XSpaceExport, CorrelationIdsAreUnsignedAndNumbersOfStepsAreNot) {
  Stat::Type correlation = Stat::Type::kNone, number = Stat::Type::kNone;
  const std::string bytes = Written(kTrace);
  const Status status = xspace::ForEachPlane(bytes, [&](const Plane& plane) {
    return plane.ForEachLine([&](const Line& line) {
      return xspace::ForEachEvent(line, [&](const Event& event) {
        return xspace::ForEachEventStat(event.bytes, [&](const Stat& stat) {
          if (plane.stat_name(stat.metadata_id) == "correlation_id") correlation = stat.type;
          if (plane.stat_name(stat.metadata_id) == "step_num") number = stat.type;
          return Status();
        });
      });
    });
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(correlation, Stat::Type::kUint64);
  EXPECT_EQ(number, Stat::Type::kInt64);
}

}  // namespace
}  // namespace crosscut::exporting
