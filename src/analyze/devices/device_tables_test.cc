// Tables about devices, on traces whose figures can be had by hand, and against a brute force.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "src/analyze/devices/device_work.h"
#include "src/analyze/devices/tables.h"
#include "src/analyze/gaps.h"
#include "src/analyze/testing/test_trace.h"
#include "src/analyze/time/critical_path.h"

namespace crosscut::analyze {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using testing::Parse;
using testing::Rows;

// Two streams: a compute kernel that half hides a collective, copies, and a thread that launches.
constexpr std::string_view kTwoStreams = R"_(# crosscut trace
process train pid=7 window=0..1000000
thread main tid=7 main lead
span aten::mm 0 90000 framework
span cudaLaunchKernel 10000 20000 runtime
out 1 10000
span cudaLaunchKernel 30000 40000 runtime
out 2 30000
span cudaMemcpyAsync 50000 52000 runtime
out 3 50000
span cudaLaunchKernel 400000 410000 runtime
out 4 400000
span cudaStreamSynchronize 500000 960000 runtime
device stream7 device=0 stream=7
span gemm 100000 200000 device
in 1 100000
span gemm 210000 310000 device
in 2 210000
span "Memcpy HtoD (Pageable -> Device)" 310000 320000 device
in 3 310000
arg bytes 4000
span softmax 800000 900000 device
in 4 800000
device stream9 device=0 stream=9
span ncclKernel_AllReduce 250000 410000 device
)_";

// A graph that is replayed thrice, of which one replay was traced; the first call is the runtime's
// and makes one of the driver's.
constexpr std::string_view kReplays = R"_(# crosscut trace
process train pid=7 window=0..3000000
thread main tid=7 main lead
span hipGraphLaunch 0 20000 runtime
span cuGraphLaunch 5000 15000 runtime
out 1 5000
span hipGraphLaunch 1000000 1020000 runtime
span hipGraphLaunch 2000000 2020000 runtime
device stream7 device=0 stream=7
span decode 40000 900000 device
in 1 40000
span decode 2040000 2900000 device
)_";

TEST(GraphLaunches, WithoutTheirWorkAreAGapAndNothingIsSaidOfIdleDevices) {
  const trace::Trace trace = Parse(kReplays);
  const Context context(trace);
  EXPECT_THAT(Gaps(trace, context),
              Contains(HasSubstr("2 launches of graphs have no recorded work, of 3 in train")));
  EXPECT_THAT(Rows(trace, "findings"), IsEmpty());
  const trace::Trace whole = Parse(kTwoStreams);
  EXPECT_THAT(Rows(whole, "findings"), Contains(HasSubstr("did nothing for")));
}

// Two kernels of a name with metrics, one without; the units, and a window's, at instants.
constexpr std::string_view kMeasured = R"_(# crosscut trace
process train pid=7 window=0..1000000
thread main tid=7 main lead
span cudaLaunchKernel 10000 20000 runtime
device stream7 device=0 stream=7
span gemm 100000 200000 device
arg grid_x 64
arg metric_passes 2
arg dram__bytes.sum 10
arg sm__warps.avg -3
span gemm 210000 310000 device
arg metric_passes 3
arg dram__bytes.sum 40
span gemm 320000 330000 device
arg dram__bytes.sum 1000
instant "Hardware metrics" 900000 device
arg metric_passes 3
arg "dram__bytes.sum unit" "bytes"
arg sm__warps.avg 7
)_";

TEST(KernelMetrics, AreRowsByKernelAndMetricAndTimesAreSaidToBeNoneToCompare) {
  const trace::Trace trace = Parse(kMeasured);
  EXPECT_THAT(Rows(trace, "kernel_metrics"),
              ElementsAre("(all of a window) sm__warps.avg - 1 7.000000 7.000000 7.000000",
                          "gemm dram__bytes.sum bytes 2 25.000000 10.000000 40.000000",
                          "gemm sm__warps.avg - 1 -3.000000 -3.000000 -3.000000"));
  const Context context(trace);
  EXPECT_THAT(
      Gaps(trace, context),
      Contains(HasSubstr("Hardware metrics were read in train (pid 7), for which each kernel "
                         "ran alone and up to 3 times: times of this run are not "
                         "comparable")));
  const trace::Trace without = Parse(kTwoStreams);
  EXPECT_THAT(Rows(without, "kernel_metrics"), IsEmpty());
  EXPECT_THAT(Gaps(without, Context(without)), ::testing::Not(Contains(HasSubstr("metrics"))));
}

TEST(DeviceTables, SplitTheDevicesTimeByWhatIsNotHidden) {
  const trace::Trace trace = Parse(kTwoStreams);
  // 100..900: gemm 100+100, softmax 100; nccl 310..410 beyond gemm, of which 10 beside the copy.
  EXPECT_THAT(Rows(trace, "device_timeline"),
              ElementsAre("train 800000 300000 100000 0 400000 400000"));
  EXPECT_THAT(Rows(trace, "temporal_breakdown"), ElementsAre("train 800000 300000 100000 400000"));
  EXPECT_THAT(Rows(trace, "comm_overlap"), ElementsAre("train 160000 60000"));
  EXPECT_THAT(
      Rows(trace, "kernel_types"),
      ElementsAre("train computation 240000", "train communication 90000",
                  "train computation+communication 60000", "train communication+copy 10000"));
}

TEST(DeviceTables, KernelsAndCopiesAreSummedByName) {
  const trace::Trace trace = Parse(kTwoStreams);
  EXPECT_THAT(Rows(trace, "kernels"),
              ElementsAre("gemm computation 2 200000 100000 100000 100000 100000",
                          "ncclKernel_AllReduce communication 1 160000 160000 160000 160000 160000",
                          "softmax computation 1 100000 100000 100000 100000 100000",
                          "Memcpy HtoD (Pageable -> Device) copy 1 10000 10000 10000 10000 10000"));
  EXPECT_THAT(Rows(trace, "copies"),
              ElementsAre("train Memcpy HtoD 1 4000 10000 400000000.000000 400000000.000000"));
}

TEST(DeviceTables, GapsAreToldByTheirCause) {
  // 200..210: launched before, 10 us; 320..800: launched at 400, after the gap began.
  EXPECT_THAT(Rows(Parse(kTwoStreams), "idle_causes"),
              ElementsAre("train 7 host_wait 1 480000 0", "train 7 kernel_wait 1 10000 0"));
  // Launched in time, and a long gap all the same; and one without a launch.
  const trace::Trace other = Parse(R"(# crosscut trace
process p window=0..1000000
thread t tid=1
span launch 0 10 runtime
out 1 0
device s device=0 stream=3
span a 100 200 device
span b 40200 50000 device
in 1 40200
span c 90000 91000 device
)");
  EXPECT_THAT(Rows(other, "idle_causes"),
              ElementsAre("p 3 other 1 40000 0", "p 3 unlinked 1 40000 0"));
}

TEST(DeviceTables, LaunchesHaveTheirDelaysAndQueues) {
  const trace::Trace trace = Parse(kTwoStreams);
  EXPECT_THAT(Rows(trace, "launches"),
              ElementsAre("train cudaLaunchKernel 3 30000 300000 640000 390000 0 0 2 3",
                          "train cudaMemcpyAsync 1 2000 10000 258000 258000 0 0 1 1"));
  // 1 from 10, 2 from 30, 3 from 50, 2 from 100, 1 from 210, 0 from 310, 1 from 400 to 800.
  const double mean = (20 * 1 + 20 * 2 + 50 * 3 + 110 * 2 + 100 * 1 + 400 * 1) / 790.0;
  EXPECT_THAT(Rows(trace, "queue_length"),
              ElementsAre("train 7 4 " + std::to_string(mean) + " 3 0 0"));
}

TEST(DeviceTables, ACallThatLaunchesMuchCountsOnce) {
  const trace::Trace trace = Parse(R"(# crosscut trace
process p pid=7 window=0..100000
thread main tid=7 main lead
span cudaGraphLaunch 10000 30000 runtime
out 1 10000
device stream7 device=0 stream=7
span a 40000 45000 device
in 1 40000
span b 60000 64000 device
in 1 60000
)");
  EXPECT_THAT(Rows(trace, "launches"),
              ElementsAre("p cudaGraphLaunch 1 20000 9000 10000 10000 1 0 0 2"));
  // Both wait from 10, one from 40 to 60.
  EXPECT_THAT(Rows(trace, "queue_length"), ElementsAre("p 7 1 1.600000 2 0 0"));
}

TEST(DeviceTables, ABlockingCallIsTiedToTheWorkItWaitedFor) {
  EXPECT_THAT(
      Rows(Parse(kTwoStreams), "device_waits"),
      ElementsAre("train main cudaStreamSynchronize 500000 960000 softmax 0 7 900000 100000 "
                  "derived"));
}

// Devices number their streams alike: CUDA's default stream is 7 on each.
TEST(DeviceTables, ARecordedWaitIsForItsOwnDevicesStream) {
  const trace::Trace trace = Parse(R"(# crosscut trace
process p pid=7 window=0..100000
thread main tid=7 main lead
span cudaLaunchKernel 1000 2000 runtime
out 1 1000
span cudaLaunchKernel 3000 4000 runtime
out 2 3000
span cudaStreamSynchronize 10000 60000 runtime
arg correlation 5
device stream7 device=0 stream=7
span mine 5000 50000 device
in 1 5000
span Sync 10000 50000 idle
arg correlation 5
arg stream 7
device other7 device=1 stream=7
span others 6000 55000 device
in 2 6000
)");
  EXPECT_THAT(
      Rows(trace, "device_waits"),
      ElementsAre("p main cudaStreamSynchronize 10000 60000 mine 0 7 50000 40000 recorded"));
}

TEST(DeviceTables, OperatorsAreGroupedByWhatTheyLaunch) {
  EXPECT_THAT(
      Rows(Parse(kTwoStreams), "sequences"),
      ElementsAre("aten::mm gemm > gemm > Memcpy HtoD (Pageable -> Device) 3 1 90000 210000"));
}

TEST(CriticalPath, GoesFromTheWaitToTheKernelAndToItsLaunch) {
  const trace::Trace trace = Parse(kTwoStreams);
  EXPECT_THAT(Rows(trace, "critical_path_segments"),
              ElementsAre("train host framework aten::mm main 0 10000",
                          "train host runtime cudaLaunchKernel main 10000 20000",
                          "train host framework aten::mm main 20000 30000",
                          "train host runtime cudaLaunchKernel main 30000 40000",
                          "train host framework aten::mm main 40000 50000",
                          "train host runtime cudaMemcpyAsync main 50000 52000",
                          "train host framework aten::mm main 52000 90000",
                          "train unknown - - - 90000 400000",
                          "train host runtime cudaLaunchKernel main 400000 410000",
                          "train launch computation softmax stream7 410000 800000",
                          "train device computation softmax stream7 800000 900000",
                          "train host runtime cudaStreamSynchronize main 900000 960000",
                          "train unknown - - - 960000 1000000"));
}

// A device's communication that no library's name tells: of the layer comm, as in every table.
TEST(CriticalPath, HasTheTypesOfWorkThatTheOtherTablesHave) {
  const trace::Trace trace = Parse(R"(# crosscut trace
process p window=0..100
thread main tid=1 main lead
span cudaDeviceSynchronize 0 100 runtime
device s device=0 stream=7
span exchange 10 90 comm
)");
  EXPECT_THAT(Rows(trace, "kernels"), ElementsAre("exchange communication 1 80 80 80 80 80"));
  EXPECT_THAT(Rows(trace, "critical_path"),
              ::testing::Contains("p device communication exchange 1 80"));
}

constexpr std::string_view kQueue = R"(# crosscut trace
process p window=0..100
thread main tid=1 main lead
span forward 0 20 framework
span cudaDeviceSynchronize 60 95 runtime
thread backward tid=2
span work 20 60 framework
span cudaLaunchKernel 22 24 runtime
out 1 22
span cudaLaunchKernel 26 28 runtime
out 2 26
device s device=0 stream=7
span k1 30 70 device
in 1 30
span k2 72 90 device
in 2 72
)";

TEST(CriticalPath, FollowsAQueueOfKernelsAndTheThreadThatWorks) {
  const trace::Trace trace = Parse(kQueue);
  EXPECT_THAT(
      Rows(trace, "critical_path_segments"),
      ElementsAre("p host framework forward main 0 20", "p host framework work backward 20 22",
                  "p host runtime cudaLaunchKernel backward 22 24",
                  "p launch computation k1 s 24 30", "p device computation k1 s 30 70",
                  "p queued computation k2 s 70 72", "p device computation k2 s 72 90",
                  "p host runtime cudaDeviceSynchronize main 90 95", "p unknown - - - 95 100"));
  EXPECT_THAT(Rows(trace, "critical_path"), ::testing::Contains("p device computation k1 1 40"));
}

TEST(CriticalPath, WorkFollowsWhatEndedBeforeItAlsoBesideLongerWorkOfItsStream) {
  std::string text(kQueue);
  text.insert(text.find("span k1"), "span long 29 99 device\n");
  EXPECT_THAT(Rows(Parse(text), "critical_path_segments"),
              IsSupersetOf({"p device computation k1 s 30 70", "p queued computation k2 s 70 72",
                            "p device computation k2 s 72 90"}));
}

TEST(Memory, PeaksFollowTheAllocatorsOwnTotals) {
  const trace::Trace trace = Parse(R"(# crosscut trace
process p window=0..100
thread t tid=1
instant [memory] 10
arg Bytes 100
arg "Device Type" 0
arg "Device Id" -1
arg "Total Allocated" 1100
instant [memory] 20
arg Bytes -50
arg "Device Type" 0
arg "Device Id" -1
arg "Total Allocated" 1050
instant [memory] 30
arg Bytes 7
arg "Device Type" 1
arg "Device Id" 2
)");
  EXPECT_THAT(Rows(trace, "memory"),
              ElementsAre("p cpu 1 1 100 50 1000 1100 10 1050 0", "p cuda:2 1 0 7 0 0 7 30 7 0"));
}

TEST(Findings, TellTheNumberAndTheTable) {
  const std::vector<std::string> rows = Rows(Parse(kTwoStreams), "findings");
  ASSERT_FALSE(rows.empty());
  EXPECT_THAT(rows, ::testing::Contains(HasSubstr(
                        "did nothing for 50 % of the time between their first and last work "
                        "(400 µs). device_timeline 400000")));
  EXPECT_THAT(rows, ::testing::Contains(HasSubstr("launched too late")));
  EXPECT_THAT(rows,
              ::testing::Contains(HasSubstr("Communication that no computation hid took 100 µs")));
  EXPECT_THAT(Rows(Parse("# crosscut trace\nprocess p window=0..9\n"), "findings"), IsEmpty());
}

// Every nanosecond by itself.
TEST(DeviceTables, AgreeWithABruteForce) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const char* const names[] = {"gemm", "nccl_x", "Memcpy HtoD"};
    std::string text = "# crosscut trace\nprocess p window=0..100\n";
    std::vector<int> sets(100, 0);
    int64_t first = 100, last = 0;
    for (int stream = 0; stream < 3; ++stream) {
      text +=
          "device s" + std::to_string(stream) + " device=0 stream=" + std::to_string(stream) + "\n";
      int64_t at = static_cast<int64_t>(random() % 20);
      while (at < 95) {
        const int type = static_cast<int>(random() % 3);
        const int64_t end = std::min<int64_t>(100, at + 1 + static_cast<int64_t>(random() % 15));
        text += "span \"" + std::string(names[type]) + "\" " + std::to_string(at) + " " +
                std::to_string(end) + " device\n";
        for (int64_t ns = at; ns < end; ++ns) sets[static_cast<size_t>(ns)] |= 1 << type;
        first = std::min(first, at);
        last = std::max(last, end);
        at = end + static_cast<int64_t>(random() % 12);
      }
    }
    const auto count = [&](auto wanted) { return std::count_if(sets.begin(), sets.end(), wanted); };
    const int64_t busy = count([](int set) { return set != 0; });
    EXPECT_THAT(Rows(Parse(text), "device_timeline"),
                ElementsAre("p " + std::to_string(last - first) + " " +
                            std::to_string(count([](int set) { return (set & 1) != 0; })) + " " +
                            std::to_string(count([](int set) { return (set & 3) == 2; })) + " " +
                            std::to_string(count([](int set) { return set == 4; })) + " " +
                            std::to_string(busy) + " " + std::to_string(last - first - busy)));
  }
}

// A path has no gap and no overlap, whatever the trace: it adds up to the window.
TEST(CriticalPath, AddsUpToTheWindowOnRandomTraces) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::string text = "# crosscut trace\nprocess p window=0..1000\n";
    const auto add = [&](int flows_first, bool device) {
      int64_t at = static_cast<int64_t>(random() % 100);
      for (int i = 0; at < 950; ++i) {
        const int64_t end = std::min<int64_t>(1000, at + static_cast<int64_t>(random() % 120));
        const char* const host[] = {"op framework", "cudaLaunchKernel runtime",
                                    "cudaDeviceSynchronize runtime", "f python"};
        const std::string what = device ? "kernel device" : host[random() % 4];
        const size_t blank = what.find(' ');
        text += "span " + what.substr(0, blank) + " " + std::to_string(at) + " " +
                std::to_string(end) + what.substr(blank) + "\n";
        text += std::string(device ? "in " : "out ") + std::to_string(flows_first + i % 20) + " " +
                std::to_string(at) + "\n";
        at = end + static_cast<int64_t>(random() % 60);
      }
    };
    for (int thread = 0; thread < 2; ++thread) {
      text += "thread t" + std::to_string(thread) + " tid=" + std::to_string(thread + 1) + "\n";
      add(thread * 20, false);
    }
    for (int stream = 0; stream < 2; ++stream) {
      text +=
          "device s" + std::to_string(stream) + " device=0 stream=" + std::to_string(stream) + "\n";
      add(stream * 20, true);
    }
    const trace::Trace trace = Parse(text);
    const Context context(trace);
    int64_t at = 0;
    for (const PathSegment& segment : FindCriticalPath(trace, context, {0})) {
      ASSERT_EQ(segment.begin_ns, at) << text;
      ASSERT_LT(segment.begin_ns, segment.end_ns);
      at = segment.end_ns;
    }
    EXPECT_EQ(at, 1000) << text;
  }
}

// The lead declares an operation and does nothing in it but let the worker run: what it did before
// is on the path all the same.
TEST(CriticalPath, LooksBehindAnAnnotationInWhichNothingRan) {
  const trace::Trace trace = Parse(R"(# crosscut trace
process p window=0..100
thread main tid=1 main lead
span a 0 50 framework
op b 50 100
thread worker tid=2
span w 60 100 framework
)");
  EXPECT_THAT(Rows(trace, "critical_path_segments"),
              ElementsAre("p host framework a main 0 50", "p unknown - - - 50 60",
                          "p host framework w worker 60 100"));
}

// Instant by instant: the path is nowhere where some thread ran something.
TEST(CriticalPath, IsUnknownOnlyWhereNoThreadRunsASpan) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 500; ++round) {
    testing::TestTrace t;
    const auto p = t.Process("p", 0, 300);
    for (int thread = 0; thread < 3; ++thread) {
      const auto track = thread == 0 ? t.Lead(p) : t.Thread(p);
      const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % uint64_t(n)); };
      for (int64_t at = below(40); at < 290;) {
        const int64_t end = std::min<int64_t>(300, at + 1 + below(60));
        if (below(2) == 0) {
          t.Operation(track, "op", at, end);
          for (int64_t in = at + below(20); in < end;) {
            const int64_t until = std::min(end, in + below(15));
            if (below(3) == 0) t.Operation(track, "inner", in, until);
            t.Spans(track, trace::Layer::kPython, {{in, until}});
            in = until + 1 + below(30);
          }
        } else {
          t.Spans(track, trace::Layer::kFramework, {{at, end}});
        }
        at = end + below(30);
      }
    }
    const trace::Trace& trace = t.Finish();
    const Context context(trace);
    for (const PathSegment& segment : FindCriticalPath(trace, context, {0})) {
      if (segment.kind != PathSegment::kUnknown) continue;
      for (const trace::Track& track : trace.tracks) {
        for (size_t s = 0; s < track.spans.size(); ++s) {
          if (trace.name(track.spans.name[s]).kind != trace::Kind::kSpan) continue;
          ASSERT_LE(std::min(track.spans.end_ns[s], segment.end_ns),
                    std::max(track.spans.begin_ns[s], segment.begin_ns))
              << "round " << round;
        }
      }
    }
  }
}

TEST(CriticalPath, HasNoTimeInPauses) {
  const trace::Trace trace = Parse(R"(# crosscut trace
process p window=0..100
pause 10 20
pause 40 60
pause 95 100
thread main tid=1 main lead
span a 0 50 framework
span b 55 80 framework
)");
  EXPECT_THAT(Rows(trace, "critical_path_segments"),
              ElementsAre("p host framework a main 0 10", "p host framework a main 20 40",
                          "p host framework b main 60 80", "p unknown - - - 80 95"));
}

TEST(DeviceTables, AKernelThatConvertsIsNoCopy) {
  trace::Trace trace;
  const auto type = [&](std::string_view text) {
    trace::Name name;
    name.text = trace.strings.Intern(text);
    return TypeOfWork(trace, name);
  };
  EXPECT_EQ(type("triton_poi_fused__to_copy_add_0"), WorkType::kComputation);
  EXPECT_EQ(type("my_copy_kernel"), WorkType::kComputation);
  EXPECT_EQ(type("clEnqueueReadBuffer"), WorkType::kCopy);
  EXPECT_EQ(type("CopyHostToDevice"), WorkType::kCopy);
}

TEST(DeviceTables, ADeviceThatStatesNoNumberIsMinusOneAndNotTheFirst) {
  testing::TestTrace t;
  const auto p = t.Process("p", 0, 100);
  t.track(t.DeviceSpans(p, {{10, 20}})).device = 3;
  t.track(t.DeviceSpans(p, {{30, 40}})).device = -1;
  EXPECT_THAT(testing::Compute(t.Finish(), "device_events").integers("device"), ElementsAre(3, -1));
}

// The names of all would be a square of them.
TEST(Tables, DeviceByLaunchCountsTheOthersOfManyOperationsAtOnce) {
  constexpr int kMany = 300;
  std::string text = "# crosscut trace\nprocess p pid=1 window=0..100000\nthread main tid=1 lead\n";
  for (int i = 0; i < kMany; ++i) {
    const std::string at = std::to_string(10 * i), end = std::to_string(10 * i + 5);
    text += "op w" + std::to_string(1000 + i) + " " + at + " " + end + "\nspan launch " + at + " " +
            end + " runtime\nout " + std::to_string(i + 1) + " " + at + "\n";
  }
  for (int i = 0; i < kMany; ++i) {
    const std::string at = std::to_string(5000 + i);
    text += "device gpu device=0 stream=" + std::to_string(i) + "\nspan kernel " + at +
            " 10000 device\nin " + std::to_string(i + 1) + " " + at + "\n";
  }
  const trace::Trace trace = Parse(text);
  const Context context(trace);
  const Table table = DeviceByLaunchTable(trace, context);
  int64_t sum = 0;
  size_t longest = 0;
  std::string last;
  for (size_t row = 0; row < table.rows(); ++row) {
    const std::string& operations = table.texts("launch_operations")[row];
    sum += table.integers("ns")[row];
    longest = std::max(longest, operations.size());
    if (operations.ends_with("+(236 others)")) last = operations;
  }
  EXPECT_EQ(sum, 5000);
  EXPECT_LT(longest, size_t{500});
  EXPECT_TRUE(last.starts_with("w1000+w1001+")) << last;
}

}  // namespace
}  // namespace crosscut::analyze
