#include "records.h"

#include <cupti_runtime_cbid.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "session.h"
#include "testing/fake_cupti.h"
#include "testing/recording_host.h"

namespace crosscut::cupti {
namespace {

using ::testing::HasSubstr;

// CUPTI's clock is the host's in these tests but for those of the clock.
class CuptiRecords : public ::testing::Test {
 protected:
  void Start() {
    session_ = std::make_unique<Session>(host.abi(), cupti.table());
    session_->Start();
    while (!session_->AwaitAttachment()) {
    }
    now = cupti.Now();
  }
  void Stop() { session_->Stop(); }
  void PutKernel(uint32_t stream, int64_t begin_ns, int64_t end_ns, int thread = 0) {
    CUpti_ActivityKernel7 kernel = FakeCupti::Kernel(0, now + begin_ns, now + end_ns);
    kernel.streamId = stream;
    cupti.Put(kernel, thread);
  }

  RecordingHost host;
  FakeCupti cupti;
  std::unique_ptr<Session> session_;
  int64_t now = 0;
};

TEST_F(CuptiRecords, KernelsCarryTheirShape) {
  Start();
  CUpti_ActivityKernel7 kernel = FakeCupti::Kernel(1, now, now + 10);
  kernel.gridZ = 3;
  kernel.staticSharedMemory = 1024;
  kernel.dynamicSharedMemory = 4096;
  cupti.Put(kernel);
  Stop();
  const std::map<std::string, int64_t> expected = {{"grid_x", 64},
                                                   {"grid_z", 3},
                                                   {"block_x", 32},
                                                   {"block_y", 4},
                                                   {"registers", 40},
                                                   {"static_shared_bytes", 1024},
                                                   {"dynamic_shared_bytes", 4096}};
  ASSERT_EQ(host.events.size(), 1u);
  EXPECT_EQ(host.events[0].args, expected);
  EXPECT_EQ(host.events[0].begin_ns, now);
  EXPECT_EQ(host.events[0].end_ns, now + 10);
}

TEST_F(CuptiRecords, CopiesAndMemorySetsCarryTheirBytes) {
  Start();
  CUpti_ActivityMemcpy5 copy = {};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.bytes = uint64_t{5} << 32;
  copy.start = static_cast<uint64_t>(now);
  copy.end = copy.start + 10;
  cupti.Put(copy);
  CUpti_ActivityMemcpyPtoP4 peer = {};
  peer.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  peer.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  peer.srcKind = peer.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  peer.srcDeviceId = 1;
  peer.dstDeviceId = 2;
  peer.bytes = 12;
  peer.start = static_cast<uint64_t>(now) + 20;
  peer.end = peer.start + 10;
  cupti.Put(peer);
  CUpti_ActivityMemset4 set = {};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
  set.value = 255;
  set.bytes = 4096;
  set.start = static_cast<uint64_t>(now) + 40;
  set.end = set.start + 10;
  cupti.Put(set);
  Stop();
  ASSERT_EQ(host.events.size(), 3u);
  EXPECT_EQ(host.events[0].name, "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(host.events[0].args.at("bytes"), int64_t{5} << 32);
  EXPECT_EQ(host.events[1].name, "Memcpy PtoP (Device -> Device)");
  EXPECT_EQ(host.events[1].args.at("source_device"), 1);
  EXPECT_EQ(host.events[1].args.at("target_device"), 2);
  EXPECT_EQ(host.events[2].name, "Memset (Managed)");
  EXPECT_EQ(host.events[2].args.at("value"), 255);
}

TEST_F(CuptiRecords, EveryStreamOfAContextHasATrackNamedByWhatCuptiKnows) {
  Start();
  CUpti_ActivityDevice4 device = {};
  device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  device.name = "NVIDIA H100";
  cupti.Put(device);
  CUpti_ActivityContext context = {};
  context.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  context.contextId = 1;
  context.nullStreamId = 7;
  cupti.Put(context);
  CUpti_ActivityName name = {};
  name.kind = CUPTI_ACTIVITY_KIND_NAME;
  name.objectKind = CUPTI_ACTIVITY_OBJECT_STREAM;
  name.objectId.dcs = {0, 1, 14};
  name.name = "copies";
  cupti.Put(name);
  for (const uint32_t stream : {7, 13, 14}) PutKernel(stream, 0, 10);
  CUpti_ActivityKernel7 other = FakeCupti::Kernel(0, now, now + 10);
  other.deviceId = 1;
  other.contextId = 2;
  cupti.Put(other);
  other.deviceId = 0;
  cupti.Put(other);
  Stop();
  ASSERT_EQ(host.tracks.size(), 5u);
  // CUDA's own numbers; a second context's on the same device are others.
  std::multiset<std::pair<int64_t, uint64_t>> streams;
  for (const auto& track : host.tracks) streams.insert({track.device, track.queue});
  EXPECT_THAT(streams, ::testing::IsSupersetOf(std::vector<std::pair<int64_t, uint64_t>>{
                           {0, 7}, {0, 13}, {0, 14}, {1, 7}}));
  EXPECT_EQ(std::set(streams.begin(), streams.end()).size(), 5u);
  std::map<std::string, std::string> names;
  for (const auto& track : host.tracks) names.emplace(track.name, track.device_name);
  const std::map<std::string, std::string> expected = {{"Stream 7 (default)", "NVIDIA H100"},
                                                       {"Stream 13", "NVIDIA H100"},
                                                       {"copies", "NVIDIA H100"},
                                                       {"Stream 7", "CUDA device 1"}};
  EXPECT_EQ(names, expected);
}

TEST_F(CuptiRecords, ComeOutInTimeOrderWhateverBufferTheyWereIn) {
  Start();
  PutKernel(7, 300, 400, 2);
  PutKernel(7, 100, 200, 1);
  PutKernel(7, 0, 50, 3);
  PutKernel(7, 210, 290, 1);
  session_->Flush();
  Stop();
  ASSERT_EQ(host.events.size(), 4u);
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_GE(host.events[i].begin_ns, host.events[i - 1].end_ns);
    EXPECT_EQ(host.events[i].track, host.events[0].track);
  }
}

TEST_F(CuptiRecords, OverlappingWorkOfOneStreamGoesToLanes) {
  Start();
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) {
    const int64_t begin = static_cast<int64_t>(random() % 10000);
    PutKernel(7, begin, begin + 1 + static_cast<int64_t>(random() % 200), i % 3);
    if (i % 50 == 0) session_->Flush();
  }
  Stop();
  EXPECT_EQ(host.Crossings(), 0);
  EXPECT_GT(host.tracks.size(), 1u);
  EXPECT_LE(host.tracks.size(), Tracks::kLanes);
  EXPECT_EQ(host.events.size() + host.LostInAll(), 400u);
}

TEST_F(CuptiRecords, AreOnTheClockThatCuptiStampsBy) {
  Start();
  PutKernel(7, 0, 10);
  Stop();
  cupti.takes_our_clock = false;
  cupti.TakeAnotherClock(nullptr);
  Start();
  PutKernel(7, 0, 10);
  Stop();
  EXPECT_EQ(host.TrackOf(host.events.at(0)).clock, uint32_t{CROSSCUT_CLOCK_MONOTONIC});
  EXPECT_EQ(host.TrackOf(host.events.at(1)).clock, 1000u);
}

TEST_F(CuptiRecords, ThatHaveNoTimesAreLost) {
  Start();
  cupti.Put(FakeCupti::Kernel(0, 0, 0));
  cupti.Put(FakeCupti::Kernel(0, now + 10, now));
  CUpti_ActivitySynchronization wait = {};
  wait.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  wait.start = static_cast<uint64_t>(now);
  wait.end = wait.start - 500;
  cupti.Put(wait);
  CUpti_ActivityOverhead overhead = {};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  cupti.Put(overhead);
  Stop();
  EXPECT_TRUE(host.events.empty());
  EXPECT_EQ(host.LostInAll(), 4u);
  EXPECT_THAT(host.Last().message, HasSubstr("4 records had no usable times"));
}

TEST_F(CuptiRecords, WithoutARecordedLaunchHaveNoArrow) {
  Start();
  PutKernel(7, 0, 10);
  Stop();
  EXPECT_EQ(host.events[0].flow_in, 0u);
  EXPECT_THAT(host.Last().message, HasSubstr("1 without their launch"));
}

// As an H200 gives them: kernels of a conditional node have the graph's id and no correlation, and
// come in a buffer of their own, behind those of the graph's other nodes.
TEST_F(CuptiRecords, OfALoopInAGraphBelongToTheGraphsLaunchBefore) {
  Start();
  constexpr uint32_t kGraph = 9;
  uint32_t launches[2];
  for (uint32_t& launch : launches) {
    cupti.Call(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000,
               "cudaGraphLaunch", [&](uint32_t id) { launch = id; });
  }
  const auto put = [&](uint32_t correlation, uint32_t graph, int64_t begin_ns, int thread) {
    CUpti_ActivityKernel7 kernel =
        FakeCupti::Kernel(correlation, now + begin_ns, now + begin_ns + 5);
    kernel.graphId = graph;
    cupti.Put(kernel, thread);
  };
  put(launches[0], kGraph, 1000, 0);
  put(launches[0], kGraph, 1010, 0);
  put(launches[1], kGraph, 2000, 0);
  for (const int64_t at : {1020, 1030, 2010}) put(0, kGraph, at, 1);
  put(0, kGraph, 900, 1);        // before all that is known of it
  put(0, kGraph + 64, 2020, 1);  // a graph that is nothing but a loop
  put(0, 0, 2030, 1);            // no graph's
  Stop();
  ASSERT_EQ(host.calls.size(), 2u);
  const uint64_t first = host.calls[0].flow_out, second = host.calls[1].flow_out;
  std::vector<uint64_t> arrows;
  for (const auto& event : host.events) arrows.push_back(event.flow_in);
  EXPECT_THAT(arrows, ::testing::ElementsAre(0, first, first, first, first, second, second, 0, 0));
  EXPECT_THAT(host.Last().message, HasSubstr("9 spans of devices, 3 without their launch"));
  EXPECT_THAT(host.Last().message, HasSubstr("3 in loops of graphs"));
}

TEST_F(CuptiRecords, FieldsThatCameLaterAreReadOnlyWhereTheRunningCuptiHasThem) {
  struct {
    uint32_t version;
    size_t bytes;
    bool has;
  } const cases[] = {{28, sizeof(CUpti_ActivityKernel9), false},
                     {130001, sizeof(CUpti_ActivityKernel10), false},
                     {130500, 248, true},
                     {990000, 400, true}};
  for (const auto& each : cases) {
    cupti.version = each.version;
    cupti.kernel_bytes = each.bytes;
    host.events.clear();
    Start();
    // Behind the kernel's record lies another, which must not be taken for a part of it.
    std::vector<uint8_t> record(each.bytes, 0);
    const CUpti_ActivityKernel7 kernel = FakeCupti::Kernel(0, now, now + 10);
    std::memcpy(record.data(), &kernel, sizeof kernel);
    if (each.has) record[240] = 77;
    struct {
      CUpti_ActivityKind kind;
      uint8_t rest[400];
    } wide = {};
    std::memcpy(&wide, record.data(), record.size());
    cupti.PutAs(wide, each.bytes);
    cupti.Put(FakeCupti::Kernel(0, now + 20, now + 30));
    Stop();
    ASSERT_EQ(host.events.size(), 2u) << each.version;
    EXPECT_EQ(host.events[0].args.count("source_node"), each.has ? 1u : 0u) << each.version;
    if (each.has) {
      EXPECT_EQ(host.events[0].args.at("source_node"), 77);
    }
  }
}

TEST_F(CuptiRecords, CutOffAtTheirBuffersEndAreNotRead) {
  Start();
  PutKernel(7, 0, 10);
  cupti.PutAs(FakeCupti::Kernel(0, now + 20, now + 30), 40);
  Stop();
  EXPECT_EQ(host.events.size(), 1u);
  EXPECT_THAT(host.Last().message, HasSubstr("1 buffers broke off"));
}

TEST_F(CuptiRecords, OfKindsThatAreNotAskedForArePassedOver) {
  Start();
  cupti.kinds.insert(CUPTI_ACTIVITY_KIND_MARKER);
  CUpti_Activity marker = {};
  marker.kind = CUPTI_ACTIVITY_KIND_MARKER;
  cupti.PutAs(marker, 56);
  PutKernel(7, 0, 10);
  Stop();
  EXPECT_EQ(host.events.size(), 1u);
}

TEST_F(CuptiRecords, ExternalIdsGoToTheWorkTheyBelongTo) {
  Start();
  CUpti_ActivityExternalCorrelation external = {};
  external.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  external.externalId = 4242;
  external.correlationId = 5;
  cupti.Put(external);
  cupti.Put(FakeCupti::Kernel(5, now, now + 10));
  cupti.Put(FakeCupti::Kernel(6, now + 20, now + 30));
  Stop();
  EXPECT_EQ(host.events[0].args.at("external"), 4242);
  EXPECT_EQ(host.events[1].args.count("external"), 0u);
}

TEST_F(CuptiRecords, WaitsAndOverheadAreInstantsThatSayHowLong) {
  Start();
  CUpti_ActivityContext context = {};
  context.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  context.contextId = 1;
  context.deviceId = 3;
  cupti.Put(context);
  CUpti_ActivitySynchronization wait = {};
  wait.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  wait.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
  wait.contextId = 1;
  wait.streamId = 7;
  wait.cudaEventId = 11;
  wait.start = static_cast<uint64_t>(now);
  wait.end = wait.start + 500;
  cupti.Put(wait);
  CUpti_ActivityOverhead overhead = {};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  overhead.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  overhead.objectId.pt.threadId = 12;
  overhead.start = static_cast<uint64_t>(now) + 10;
  overhead.end = overhead.start + 3'000'000;
  cupti.Put(overhead);
  Stop();
  ASSERT_EQ(host.events.size(), 2u);
  EXPECT_TRUE(host.events[0].is_instant);
  EXPECT_EQ(host.events[0].name, "wait for event");
  EXPECT_EQ(host.events[0].args.at("wait_ns"), 500);
  EXPECT_EQ(host.events[0].args.at("event"), 11);
  EXPECT_EQ(host.TrackOf(host.events[0]).device, 3);
  EXPECT_EQ(host.events[1].name, "CUPTI: buffer flush");
  EXPECT_EQ(host.events[1].args.at("ns"), 3'000'000);
  EXPECT_EQ(host.events[1].args.at("thread"), 12);
  EXPECT_THAT(host.Last().message, HasSubstr("report 3000 us of overhead"));
}

TEST_F(CuptiRecords, KernelNamesAreTakenByTheirTextNotTheirAddress) {
  Start();
  char name[] = "_Z3onev";
  CUpti_ActivityKernel7 kernel = FakeCupti::Kernel(0, now, now + 10);
  kernel.name = name;
  cupti.Put(kernel);
  session_->Flush();
  std::memcpy(name, "_Z3twov", sizeof name);  // the module went, another came
  kernel.start += 100;
  kernel.end += 100;
  cupti.Put(kernel);
  kernel.name = nullptr;
  cupti.Put(kernel);
  kernel.name = "not mangled<x>";
  cupti.Put(kernel);
  Stop();
  EXPECT_EQ(host.Named("one()").size(), 1u);
  EXPECT_EQ(host.Named("two()").size(), 1u);
  EXPECT_EQ(host.Named("(unnamed kernel)").size(), 1u);
  EXPECT_EQ(host.Named("not mangled<x>").size(), 1u);
}

TEST_F(CuptiRecords, ThousandsOfKernelNamesKeepApart) {
  Start();
  std::vector<std::string> mangled;
  for (int i = 0; i < 5000; ++i) mangled.push_back("_Z5k" + std::to_string(1000 + i) + "v");
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 5000; ++i) {
      const int64_t begin_ns = now + (round * 5000 + i) * 100;
      CUpti_ActivityKernel7 kernel = FakeCupti::Kernel(0, begin_ns, begin_ns + 50);
      kernel.name = mangled[static_cast<size_t>(i)].c_str();
      cupti.Put(kernel);
    }
  }
  Stop();
  ASSERT_EQ(host.events.size(), 10000u);
  for (size_t i = 0; i < 10000; ++i) {
    ASSERT_EQ(host.events[i].name, "k" + std::to_string(1000 + i % 5000) + "()");
  }
}

TEST_F(CuptiRecords, BeyondABatchGoInTheNext) {
  host.options["buffers"] = "8";
  host.options["buffer_kib"] = "8192";
  Start();
  for (int i = 0; i < 100'000; ++i) PutKernel(7, i * 100, i * 100 + 50);
  Stop();
  EXPECT_EQ(host.events.size(), 100'000u);
  EXPECT_TRUE(host.lost.empty());
}

TEST_F(CuptiRecords, ManyBuffersAreSortedTogether) {
  Start();
  for (int i = 20000; i-- > 0;) PutKernel(7, i * 100, i * 100 + 50, i % 4);
  Stop();
  ASSERT_EQ(host.events.size() + host.LostInAll(), 20000u);
  EXPECT_EQ(host.events.size(), 20000u);
  EXPECT_EQ(host.tracks.size(), 1u);
}

}  // namespace
}  // namespace crosscut::cupti
