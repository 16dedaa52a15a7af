#include "session.h"

#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <random>
#include <thread>

#include "errors.h"
#include "testing/fake_cupti.h"
#include "testing/recording_host.h"

namespace crosscut::cupti {
namespace {

using ::testing::HasSubstr;

class CuptiSession : public ::testing::Test {
 protected:
  // Options are read when a session is made.
  Session& session() {
    if (session_ == nullptr) session_ = std::make_unique<Session>(host.abi(), cupti.table());
    return *session_;
  }
  // On a machine that is busy, too, the session is attached when this returns.
  void Start() {
    session().Start();
    while (!session().AwaitAttachment()) {
    }
  }
  void Stop() { session().Stop(); }
  void PutKernel(uint32_t launch, int64_t after_ns, int64_t ns, int thread = 0) {
    const int64_t begin_ns = cupti.Now() + after_ns;
    cupti.Put(FakeCupti::Kernel(launch, begin_ns, begin_ns + ns), thread);
  }
  // A kernel that the program launches, `after_ns` from now.
  uint32_t LaunchKernel(int64_t after_ns, int64_t ns, int thread = 0) {
    const uint32_t id = cupti.Launch();
    PutKernel(id, after_ns, ns, thread);
    return id;
  }

  RecordingHost host;
  FakeCupti cupti;
  std::unique_ptr<Session> session_;  // destroyed before CUPTI
};

TEST_F(CuptiSession, LinksALaunchToItsKernel) {
  Start();
  LaunchKernel(1000, 5000);
  session().Flush();
  Stop();
  ASSERT_EQ(host.calls.size(), 1u);
  EXPECT_EQ(host.calls[0].name, "cudaLaunchKernel");
  EXPECT_EQ(host.calls[0].layer, uint32_t{CROSSCUT_ON_HOST_RUNTIME});
  EXPECT_NE(host.calls[0].probe, 0u);
  ASSERT_EQ(host.events.size(), 1u);
  EXPECT_EQ(host.events[0].name, "kernel(float*)");
  EXPECT_EQ(host.events[0].layer, uint32_t{CROSSCUT_ON_DEVICE});
  EXPECT_EQ(host.events[0].flow_in, host.calls[0].flow_out);
  EXPECT_NE(host.events[0].flow_in, 0u);
  EXPECT_EQ(host.open_calls, 0);
  EXPECT_EQ(host.Last().state, "on");
  EXPECT_THAT(host.Last().message, HasSubstr("1 spans of devices"));
}

TEST_F(CuptiSession, StartsAndStopsAnyNumberOfTimesWithoutMixingSessions) {
  for (int i = 0; i < 1000; ++i) {
    Start();
    LaunchKernel(0, 100);
    Stop();
    ASSERT_EQ(host.events.size(), static_cast<size_t>(i + 1));
    ASSERT_EQ(host.events.back().flow_in, host.calls.back().flow_out);
  }
  EXPECT_FALSE(cupti.is_subscribed());
  EXPECT_TRUE(cupti.kinds.empty());
  EXPECT_EQ(cupti.asked["Subscribe"], 1000);
  EXPECT_EQ(cupti.asked["Unsubscribe"], 1000);
  EXPECT_EQ(host.lost.size(), 0u);
}

TEST_F(CuptiSession, SaysNothingWhereNothingRan) {
  Start();
  session().Flush();
  Stop();
  EXPECT_TRUE(host.events.empty());
  EXPECT_TRUE(host.calls.empty());
  EXPECT_TRUE(host.tracks.empty());
}

TEST_F(CuptiSession, FlushLeavesWhatTheDeviceHasNotFinishedAndStopForcesIt) {
  Start();
  LaunchKernel(0, 100, 1);
  LaunchKernel(0, 100, 2);
  cupti.SetIncomplete(2, true);
  session().Flush();
  EXPECT_EQ(host.events.size(), 1u);
  Stop();
  EXPECT_EQ(host.events.size(), 2u);
}

TEST_F(CuptiSession, SwitchingLevelsAsksCuptiNothing) {
  Start();
  const int before = cupti.CallsInAll();
  for (int i = 0; i < 100; ++i) {
    session().SetLevel(0);
    session().SetLevel(3);
  }
  EXPECT_EQ(cupti.CallsInAll(), before);
  Stop();
}

TEST_F(CuptiSession, LeavesOutWhatControlStepsLaunchAndCountsIt) {
  Start();
  LaunchKernel(0, 10);
  session().SetLevel(0);
  LaunchKernel(0, 10);
  session().SetLevel(2);
  LaunchKernel(0, 10);
  Stop();
  EXPECT_EQ(host.calls.size(), 2u);
  EXPECT_EQ(host.events.size(), 2u);
  EXPECT_TRUE(host.lost.empty());
  EXPECT_THAT(host.Last().message, HasSubstr("1 left out in control steps"));
}

// Each launch at random in a control step or not, its work at random at once or much later: the
// host runs ahead. With its inner call of the driver, whose id the record may have.
TEST_F(CuptiSession, LeavesWorkOutByWhenItWasLaunchedNotByWhenItRan) {
  std::mt19937 random(4);
  Start();
  size_t recorded = 0, left_out = 0;
  std::vector<uint32_t> later;
  for (int i = 0; i < 400; ++i) {
    const uint32_t level = random() % 2 == 0 ? 0 : 3,
                   inside = random() % 3 == 0 ? 3 - level : level;
    session().SetLevel(level);
    uint32_t inner = 0;
    const uint32_t outer = cupti.Call(
        CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
        "cudaLaunchKernel", [&](uint32_t) {
          session().SetLevel(inside);
          inner = cupti.Call(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                             "cuLaunchKernel", [](uint32_t) {});
        });
    ++(level == 0 ? left_out : recorded);
    later.push_back(random() % 2 == 0 ? inner : outer);
    while (!later.empty() && random() % 3 == 0) {
      const size_t which = random() % later.size();
      PutKernel(later[which], static_cast<int64_t>(random() % 1000), 10);
      later.erase(later.begin() + static_cast<ptrdiff_t>(which));
    }
  }
  session().SetLevel(3);
  for (const uint32_t id : later) PutKernel(id, 5, 10);
  Stop();
  EXPECT_EQ(host.calls.size(), recorded);
  EXPECT_EQ(host.open_calls, 0);
  EXPECT_EQ(host.events.size() + host.LostInAll(), recorded);
  for (const auto& event : host.events) EXPECT_NE(event.flow_in, 0u);
  EXPECT_THAT(host.Last().message,
              HasSubstr(", " + std::to_string(left_out) + " left out in control steps"));
}

TEST_F(CuptiSession, KnowsControlStepsOnCuptisOwnClock) {
  // Longer than what lies between two readings of the clocks.
  const auto pass = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  cupti.takes_our_clock = false;
  Start();
  session().SetLevel(0);
  pass();
  LaunchKernel(0, 10);
  pass();
  session().SetLevel(3);
  pass();
  PutKernel(0, 0, 10);
  Stop();
  EXPECT_EQ(host.events.size(), 1u);
  EXPECT_THAT(host.Last().message, HasSubstr("1 left out in control steps"));
}

TEST_F(CuptiSession, KeepsWorkOfRecordedLaunchesThatRunsInControlSteps) {
  Start();
  const uint32_t id = cupti.Launch();
  session().SetLevel(0);
  PutKernel(id, 0, 10);
  Stop();
  ASSERT_EQ(host.events.size(), 1u);
  EXPECT_EQ(host.events[0].flow_in, host.calls[0].flow_out);
}

TEST_F(CuptiSession, EndsACallThatBeganBeforeALevelOfZero) {
  Start();
  cupti.Call(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
             "cudaStreamSynchronize", [&](uint32_t) { session().SetLevel(0); });
  EXPECT_EQ(host.open_calls, 0);
  cupti.Call(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
             "cudaStreamSynchronize", [&](uint32_t) { session().SetLevel(1); });
  EXPECT_EQ(host.calls.size(), 1u);
  EXPECT_EQ(host.ends_without_begin, 0);
  Stop();
}

TEST_F(CuptiSession, IgnoresTheEndOfACallThatOutlivesItsSession) {
  Start();
  cupti.Call(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020,
             "cudaStreamSynchronize", [&](uint32_t) {
               Stop();
               Start();
               LaunchKernel(0, 10);
             });
  EXPECT_EQ(host.calls.size(), 2u);
  EXPECT_EQ(host.ends_without_begin, 0);
  EXPECT_EQ(host.open_calls, 1);  // its session's end closes it
  LaunchKernel(0, 10);
  EXPECT_EQ(host.open_calls, 1);
  Stop();
}

TEST_F(CuptiSession, TakesTheDriversCallInsideTheRuntimesAsOneSpanWithBothIds) {
  Start();
  uint32_t inner = 0;
  cupti.Call(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
             "cudaLaunchKernel", [&](uint32_t) {
               inner =
                   cupti.Call(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
                              "cuLaunchKernel", [](uint32_t) {});
               EXPECT_EQ(host.open_calls, 1);
             });
  PutKernel(inner, 0, 10);
  Stop();
  ASSERT_EQ(host.calls.size(), 1u);
  ASSERT_EQ(host.events.size(), 1u);
  EXPECT_EQ(host.events[0].flow_in, host.calls[0].flow_out);
}

TEST_F(CuptiSession, RecordsTheDriversOwnLaunchesAndNoCallThatNeitherWaitsNorWorks) {
  Start();
  cupti.Call(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
             "cuLaunchKernelEx", [](uint32_t) {});
  cupti.Call(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020,
             "cudaGetDevice", [](uint32_t) {});
  cupti.Call(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, "cudaMalloc",
             [](uint32_t) {});
  Stop();
  ASSERT_EQ(host.calls.size(), 2u);
  EXPECT_EQ(host.calls[0].name, "cuLaunchKernelEx");
  EXPECT_NE(host.calls[0].flow_out, 0u);
  EXPECT_EQ(host.calls[1].name, "cudaMalloc");
  EXPECT_EQ(host.calls[1].flow_out, 0u);
}

TEST_F(CuptiSession, LinksEveryNodeOfAGraphToItsOneLaunch) {
  Start();
  const uint32_t id = cupti.LaunchGraph();
  const int64_t now = cupti.Now();
  for (int node = 0; node < 50; ++node) {
    CUpti_ActivityKernel7 kernel = FakeCupti::Kernel(id, now + node * 100, now + node * 100 + 50);
    kernel.graphId = 3;
    kernel.graphNodeId = uint64_t{3} << 32 | static_cast<uint64_t>(node + 1);
    cupti.Put(kernel);
  }
  Stop();
  ASSERT_EQ(host.events.size(), 50u);
  for (size_t node = 0; node < 50; ++node) {
    EXPECT_EQ(host.events[node].flow_in, host.calls[0].flow_out);
    EXPECT_EQ(host.events[node].args.at("graph"), 3);
    EXPECT_EQ(host.events[node].args.at("graph_node"),
              (int64_t{3} << 32) + static_cast<int64_t>(node) + 1);
  }
}

TEST_F(CuptiSession, RecordsWholeGraphsWhereAsked) {
  host.options["graphs"] = "launches";
  Start();
  EXPECT_EQ(cupti.kinds.count(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), 1u);
  CUpti_ActivityGraphTrace graph = {};
  graph.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  graph.correlationId = cupti.LaunchGraph();
  graph.graphId = 9;
  graph.start = static_cast<uint64_t>(cupti.Now());
  graph.end = graph.start + 500;
  cupti.Put(graph);
  Stop();
  ASSERT_EQ(host.Named("CUDA graph").size(), 1u);
  EXPECT_EQ(host.events[0].args.at("graph"), 9);
  EXPECT_EQ(host.events[0].flow_in, host.calls[0].flow_out);
}

TEST_F(CuptiSession, TellsOfDropsWhereTheyHappened) {
  host.options["buffers"] = "2";
  host.options["buffer_kib"] = "16";
  Start();
  cupti.hold_back = true;
  for (int i = 0; i < 1000; ++i) LaunchKernel(0, 10);
  cupti.hold_back = false;
  const auto kept = 2 * ((16u << 10) / sizeof(CUpti_ActivityKernel7));
  cupti.Release();
  Stop();
  EXPECT_EQ(host.events.size(), kept);
  EXPECT_EQ(host.LostInAll(), 1000 - kept);
  ASSERT_FALSE(host.lost.empty());
  EXPECT_LT(host.lost[0].begin_ns, host.lost[0].end_ns);
  EXPECT_THAT(host.Last().message, HasSubstr("option buffers"));
}

TEST_F(CuptiSession, EmptiesBuffersItselfWhereTheHostDoesNotAskInTime) {
  host.options["buffers"] = "4";
  host.options["buffer_kib"] = "16";
  Start();
  for (int i = 0; i < 10000; ++i) LaunchKernel(0, 10);
  Stop();
  EXPECT_EQ(host.events.size(), 10000u);
  EXPECT_TRUE(host.lost.empty());
}

TEST_F(CuptiSession, CountsWhatCuptiDroppedForReasonsOfItsOwn) {
  Start();
  cupti.drop = 7;
  session().Flush();
  EXPECT_EQ(host.LostInAll(), 7u);
  cupti.drop = 5;
  Stop();
  EXPECT_EQ(host.LostInAll(), 12u);
  ASSERT_EQ(host.lost.size(), 2u);
  EXPECT_EQ(host.lost[1].begin_ns, host.lost[0].end_ns);
  EXPECT_THAT(host.Last().message, HasSubstr("CUPTI dropped 12 records"));
}

TEST_F(CuptiSession, DiscardsBuffersThatComeBackAfterTheirSession) {
  Start();
  LaunchKernel(0, 10);
  cupti.hold_back = true;
  Stop();
  EXPECT_TRUE(host.events.empty());
  Start();  // in another session, on another thread
  std::thread([&] { cupti.Release(); }).join();
  cupti.hold_back = false;
  LaunchKernel(0, 10);
  Stop();
  EXPECT_EQ(host.events.size(), 1u);
  EXPECT_THAT(host.Last().message, HasSubstr("1 buffers came after their session"));
}

TEST_F(CuptiSession, TakesBuffersBackWhileNoSessionRuns) {
  host.options["buffers"] = "2";
  Start();
  for (int i = 0; i < 3; ++i) {
    LaunchKernel(0, 10);
    cupti.hold_back = true;
    Stop();
    std::thread([&] { cupti.Release(); }).join();
    cupti.hold_back = false;
    Start();
  }
  LaunchKernel(0, 10);
  Stop();
  EXPECT_EQ(host.events.size(), 1u);
  EXPECT_TRUE(host.lost.empty());
  EXPECT_THAT(host.Last().message, HasSubstr("3 buffers came after their session"));
}

TEST_F(CuptiSession, AttachesToEveryThreadsCallsAtOnce) {
  Start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) LaunchKernel(0, 10, t);
    });
  }
  for (int i = 0; i < 50; ++i) {
    session().Flush();
    session().SetLevel(i % 2 == 0 ? 0 : 3);
  }
  session().SetLevel(3);
  for (std::thread& thread : threads) thread.join();
  Stop();
  EXPECT_EQ(host.open_calls, 0);
  EXPECT_EQ(host.ends_without_begin, 0);
  EXPECT_EQ(host.Crossings(), 0);
  std::map<uint64_t, int> arrows;
  for (const auto& event : host.events) {
    if (event.flow_in == 0) continue;
    EXPECT_EQ(++arrows[event.flow_in], 1);
  }
  // A launch's kernel is there with its arrow, or was dropped for want of a lane, which is told.
  size_t launches = 0;
  for (const auto& call : host.calls) launches += call.flow_out != 0;
  EXPECT_EQ(arrows.size() + host.LostInAll(), launches);
}

// ---- Trouble -----------------------------------------------------------------------------------

TEST_F(CuptiSession, NamesTheSubscriberThatWasThereAndLeavesItAlone) {
  cupti.owner = "CUPTI for Kineto";
  Start();
  EXPECT_EQ(host.Last().state, "conflict");
  EXPECT_THAT(host.Last().message, HasSubstr("\"CUPTI for Kineto\""));
  EXPECT_THAT(host.Last().message, HasSubstr("CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, 39"));
  session().Flush();
  Stop();
  // Nothing that would take the other's records, switches or clock from it.
  for (const char* function :
       {"ActivityRegisterCallbacks", "ActivityEnable", "ActivityDisable", "ActivityFlushAll",
        "EnableDomain", "EnableCallback", "ActivityRegisterTimestampCallback", "Unsubscribe"}) {
    EXPECT_EQ(cupti.asked[function], 0) << function;
  }
  cupti.owner.clear();
  Start();
  LaunchKernel(0, 10);
  Stop();
  EXPECT_EQ(host.events.size(), 1u);
  EXPECT_EQ(host.Last().state, "on");
}

TEST_F(CuptiSession, IsMissingWithoutADriver) {
  for (const CUptiResult code : {CUPTI_ERROR_UNKNOWN, CUPTI_ERROR_NOT_INITIALIZED}) {
    cupti.refuse = {{"Subscribe", code}};
    Start();
    session().Flush();
    Stop();
    EXPECT_EQ(host.Last().state, "missing");
    EXPECT_THAT(host.Last().message, HasSubstr("no NVIDIA driver or device answers"));
  }
  EXPECT_TRUE(host.events.empty());
}

TEST_F(CuptiSession, IsMissingWhereCuptiIsTooOld) {
  cupti.version = 16;
  Start();
  EXPECT_EQ(host.Last().state, "missing");
  EXPECT_FALSE(cupti.is_subscribed());
}

TEST_F(CuptiSession, AnswersItsHostInTimeWhileCuptiIsSlowToAttach) {
  cupti.slow_ms = 2000;
  session().Start();
  EXPECT_FALSE(session().is_attached());
  while (!session().is_attached()) session().Flush();
  session().Flush();  // waits for the thread that attached
  LaunchKernel(0, 10);
  Stop();
  EXPECT_EQ(host.events.size(), 1u);
}

TEST_F(CuptiSession, LetsGoOfACuptiThatAnswersAfterTheSession) {
  cupti.slow_ms = 2000;
  session().Start();
  session().Stop();
  EXPECT_EQ(host.Last().state, "failed");
  EXPECT_THAT(host.Last().message, HasSubstr("did not answer before the session ended"));
  session().Start();
  EXPECT_THAT(host.Last().message, HasSubstr("has not answered since the last session"));
  cupti.slow_ms = 0;
  while (!session().AwaitAttachment()) {
  }
  EXPECT_FALSE(cupti.is_subscribed());
  EXPECT_FALSE(session().is_attached());
  Start();
  LaunchKernel(0, 10);
  Stop();
  EXPECT_EQ(host.events.size(), 1u);
  EXPECT_EQ(cupti.asked["Subscribe"], 2);
  EXPECT_EQ(cupti.asked["Unsubscribe"], 2);
}

TEST_F(CuptiSession, GoesOnWithoutWhatIsRefused) {
  cupti.refuse_kind = {{CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ERROR_NOT_COMPATIBLE},
                       {CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ERROR_INVALID_KIND}};
  Start();
  EXPECT_EQ(host.Last().state, "on");
  EXPECT_THAT(host.Last().message, HasSubstr("without copies between devices"));
  EXPECT_THAT(host.Last().message, HasSubstr("without CUPTI's own cost"));
  LaunchKernel(0, 10);
  Stop();
  EXPECT_EQ(host.events.size(), 1u);
}

TEST_F(CuptiSession, MindsNoCallsThatAnOlderCuptiDoesNotKnowButThoseItRefuses) {
  cupti.refuse = {{"EnableCallback", CUPTI_ERROR_INVALID_PARAMETER}};
  Start();
  EXPECT_THAT(host.Last().message, ::testing::Not(HasSubstr("without")));
  Stop();
  cupti.refuse = {{"EnableCallback", CUPTI_ERROR_NOT_SUPPORTED}};
  Start();
  EXPECT_THAT(host.Last().message, HasSubstr("without some CUDA calls"));
  Stop();
}

TEST_F(CuptiSession, OfTheDriverHearsOfCallsThatGiveWorkOrWait) {
  Start();
  const auto heard = [&](CUpti_CallbackId call) {
    return cupti.CallsBack(CUPTI_CB_DOMAIN_DRIVER_API, call);
  };
  for (const CUpti_CallbackId call :
       {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuMemcpy2D_v2,
        CUPTI_DRIVER_TRACE_CBID_cuMemsetD2D8_v2, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
        CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeerAsync_ptsz, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize}) {
    EXPECT_TRUE(heard(call)) << call;
  }
  for (const CUpti_CallbackId call :
       {CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent, CUPTI_DRIVER_TRACE_CBID_cuGraphAddMemcpyNode,
        CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc}) {
    EXPECT_FALSE(heard(call)) << call;
  }
  Stop();
}

TEST_F(CuptiSession, NamesWhoKeepsKernelsFromBeingRecorded) {
  const std::pair<CUptiResult, const char*> cases[] = {
      {CUPTI_ERROR_NOT_COMPATIBLE, "conflict"},
      {CUPTI_ERROR_HARDWARE_BUSY, "conflict"},
      {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "conflict"},
      {CUPTI_ERROR_UNKNOWN, "missing"},
      {CUPTI_ERROR_OUT_OF_MEMORY, "failed"}};
  for (const auto& [code, state] : cases) {
    cupti.refuse_kind = {{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, code}};
    Start();
    EXPECT_EQ(host.Last().state, state) << code;
    EXPECT_FALSE(cupti.is_subscribed());
    EXPECT_TRUE(cupti.kinds.empty());
    Stop();
  }
}

// Every function that can fail, with every code: no crash, nothing left switched on, and the state
// of the source tells.
TEST_F(CuptiSession, LeavesNothingBehindWhateverFails) {
  const char* const kFunctions[] = {"GetVersion",
                                    "GetTimestamp",
                                    "Subscribe",
                                    "Subscribe_v2",
                                    "Unsubscribe",
                                    "EnableCallback",
                                    "EnableDomain",
                                    "ActivityRegisterCallbacks",
                                    "ActivityEnable",
                                    "ActivityDisable",
                                    "ActivityFlushAll",
                                    "ActivityGetNextRecord",
                                    "ActivityGetNumDroppedRecords",
                                    "ActivityRegisterTimestampCallback",
                                    "ActivityGetStructSize"};
  host.options["buffer_kib"] = "16";
  host.options["flows"] = "1024";
  const std::string fatal = "GetVersion GetTimestamp Subscribe ActivityRegisterCallbacks";
  for (const char* function : kFunctions) {
    for (int code = 1; code <= 48; ++code) {
      const auto result = static_cast<CUptiResult>(code == 48 ? CUPTI_ERROR_UNKNOWN : code);
      FakeCupti fresh;
      Session tried(host.abi(), fresh.table());
      fresh.refuse = {{function, result}};
      tried.Start();
      while (!tried.AwaitAttachment()) {
      }
      tried.Flush();
      fresh.refuse.clear();
      tried.Stop();
      EXPECT_FALSE(tried.is_attached());
      EXPECT_EQ(fresh.is_subscribed(), false) << function << code;
      EXPECT_TRUE(fresh.kinds.empty()) << function << code;
      if (fatal.find(function) != std::string::npos) {
        EXPECT_EQ(host.Last().state, MeaningOf(result).state) << function << code;
      }
    }
  }
}

TEST_F(CuptiSession, TellsOfSettingsItDoesNotUnderstand) {
  host.options["buffers"] = "many";
  Start();
  EXPECT_THAT(host.Last().message, HasSubstr("option buffers=many"));
  Stop();
}

TEST_F(CuptiSession, ReportsWhatItsOwnCallsCost) {
  session().Calibrate();
  ASSERT_EQ(host.probe_cost.size(), 5u);
  EXPECT_GT(host.probe_cost[0], 0);
  EXPECT_LE(host.probe_cost[2], host.probe_cost[0] + host.probe_cost[1]);
  EXPECT_GE(host.probe_cost[3], host.probe_cost[0] + host.probe_cost[1]);
  EXPECT_EQ(host.open_calls, 0);
}

}  // namespace
}  // namespace crosscut::cupti
