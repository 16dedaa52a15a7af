// What is recorded, and what the application gets of it: over a fake driver.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "layer_fixture.h"

namespace crosscut::opencl {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr long kRoomKib = 256 << 10;  // it keeps what is freed
#else
constexpr long kRoomKib = 64;
#endif

TEST_F(LayerTest, RecordsAKernelFromTheCallToTheDevice) {
  const cl_command_queue queue = MakeQueue();
  host->Clear();
  const FakeEvent event = RunToEnd(queue);
  ASSERT_EQ(host->calls().size(), 1u);
  const StubHost::Call call = host->calls()[0];
  EXPECT_EQ(call.name, "clEnqueueNDRangeKernel");
  const std::vector<StubHost::Span> spans = host->spans();
  const StubHost::Span span = Only(spans, "saxpy");
  EXPECT_EQ(span.begin_ns, event.begin);
  EXPECT_EQ(span.end_ns, event.end);
  EXPECT_NE(span.flow, 0u);
  EXPECT_EQ(span.flow, call.flow);
  const std::map<std::string, int64_t> args = {{"global_x", 1024},
                                               {"global_y", 16},
                                               {"local_x", 64},
                                               {"local_y", 1},
                                               {"queued_to_start_ns", event.begin - event.queued},
                                               {"submit_to_start_ns", event.begin - event.submit}};
  EXPECT_EQ(span.args, args);
  const StubHost::Track track = host->track(span.track);
  EXPECT_EQ(track.name.substr(0, 6), "Queue ");
  EXPECT_EQ(track.device_name, "Fake 9000");
  EXPECT_NE(track.queue, 0u);
  table->clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, AKernelIsAskedForItsNameOnceUntilItIsReleased) {
  const cl_command_queue queue = MakeQueue();
  FakeDriver::kernel_name_questions = 0;
  table->clReleaseKernel(kernel);
  for (int i = 0; i < 10; ++i) RunToEnd(queue);
  EXPECT_EQ(FakeDriver::kernel_name_questions, 1);
  table->clReleaseKernel(kernel);
  FakeDriver::kernel_name = "another";
  host->Clear();
  RunToEnd(queue);
  Only(host->spans(), "another");
  table->clReleaseKernel(kernel);
  FakeDriver::kernel_name = "saxpy";
  table->clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, EventsOfTheApplicationHaveTheReferencesThatTheyWouldHave) {
  const cl_command_queue queue = MakeQueue();
  cl_event event = nullptr;
  ASSERT_EQ(Run(queue, &event), CL_SUCCESS);
  auto references = [&] {
    cl_uint count = 0;
    table->clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof count, &count, nullptr);
    return count;
  };
  EXPECT_EQ(references(), 2u);  // the application's and the driver's
  EXPECT_EQ(FakeDriver::last->references, 3);
  table->clRetainEvent(event);
  EXPECT_EQ(references(), 3u);
  FakeDriver::Complete(FakeDriver::last);
  EXPECT_EQ(references(), 2u);
  table->clReleaseEvent(event);
  EXPECT_EQ(FakeDriver::events.size(), 1u);
  table->clReleaseEvent(event);
  EXPECT_TRUE(FakeDriver::events.empty());
  table->clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, AnEventThatItsApplicationReleasedAtOnceIsStillRecorded) {
  const cl_command_queue queue = MakeQueue();
  cl_event event = nullptr;
  Run(queue, &event);
  FakeEvent* last = FakeDriver::last;
  table->clReleaseEvent(event);
  FakeDriver::Complete(last);
  Only(host->spans(), "saxpy");
  table->clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, ErrorsOfTheDriverComeThroughAndRecordNothingOnTheDevice) {
  const cl_command_queue queue = MakeQueue();
  host->Clear();
  auto* const untouched = reinterpret_cast<cl_event>(0x1234);
  for (const cl_int error : {CL_INVALID_KERNEL_ARGS, CL_OUT_OF_RESOURCES, -9999}) {
    cl_event event = untouched;
    FakeDriver::fail = error;
    EXPECT_EQ(Run(queue, &event), error);
    EXPECT_EQ(event, untouched);
    FakeDriver::fail = error;
    EXPECT_EQ(Run(queue), error);
    FakeDriver::fail = error;
    cl_int map_error = 0;
    EXPECT_EQ(table->clEnqueueMapBuffer(queue, nullptr, CL_TRUE, CL_MAP_READ, 0, 8, 0, nullptr,
                                        nullptr, &map_error),
              nullptr);
    EXPECT_EQ(map_error, error);
    FakeDriver::fail = error;
    EXPECT_EQ(table->clFinish(queue), error);
  }
  EXPECT_EQ(host->calls().size(), 12u);
  EXPECT_TRUE(host->spans().empty());
  host->Flush();
  EXPECT_EQ(host->lost(), 0u);
  table->clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, ACommandThatFailsOnTheDeviceIsCountedAndNotDrawn) {
  const cl_command_queue queue = MakeQueue();
  Run(queue);
  FakeDriver::Complete(FakeDriver::last, -5);
  EXPECT_TRUE(host->spans().empty());
  host->Flush();
  EXPECT_EQ(host->lost(), 1u);
  table->clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, ADriverThatRefusesCallbacksLosesSpansAndNoEvents) {
  const cl_command_queue queue = MakeQueue();
  FakeDriver::fail_callback = CL_OUT_OF_HOST_MEMORY;
  EXPECT_EQ(Run(queue), CL_SUCCESS);
  FakeDriver::Complete(FakeDriver::last);
  host->Flush();
  EXPECT_EQ(host->lost(), 1u);
  table->clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, CommandsUnderWayAreBoundedAndTheRestIsCounted) {
  constexpr int kBound = 1 << 15, kMore = 100;
  const cl_command_queue queue = MakeQueue();
  std::vector<FakeEvent*> events;
  for (int i = 0; i < kBound + kMore; ++i) {
    ASSERT_EQ(Run(queue), CL_SUCCESS);
    events.push_back(FakeDriver::last);
  }
  for (FakeEvent* event : events) FakeDriver::Complete(event, CL_COMPLETE, 0);
  host->Flush();
  EXPECT_EQ(host->spans().size(), size_t{kBound});
  EXPECT_EQ(host->lost(), uint64_t{kMore});
  host->Clear();
  RunToEnd(queue);
  EXPECT_EQ(host->spans().size(), 1u);
  table->clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, AtLevelZeroNothingIsRecordedAndNoEventIsMade) {
  const cl_command_queue queue = MakeQueue();
  host->Clear();
  host->Level(0);
  Run(queue);
  EXPECT_EQ(FakeDriver::last->references, 1);  // the driver's
  FakeDriver::Complete(FakeDriver::last);
  table->clFinish(queue);
  EXPECT_TRUE(host->calls().empty());
  EXPECT_TRUE(host->spans().empty());
  host->Level(1);
  RunToEnd(queue);
  EXPECT_EQ(host->spans().size(), 1u);
  host->Flush();
  EXPECT_EQ(host->lost(), 0u);
  table->clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, WhatIsUnderWayAtTheEndIsLostThereAndNotInTheNextSession) {
  const cl_command_queue queue = MakeQueue();
  Run(queue);
  FakeEvent* event = FakeDriver::last;
  host->Stop();
  EXPECT_EQ(host->lost(), 1u);
  EXPECT_EQ(host->Collect(), 0u);
  host->Start();
  host->Clear();
  FakeDriver::Complete(event);
  EXPECT_TRUE(host->spans().empty());
  host->Flush();
  EXPECT_EQ(host->lost(), 0u);
  table->clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, CommandsThatRunSideBySideStandOnTracksOfTheirOwn) {
  const cl_command_queue queue = MakeQueue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const int64_t now = plain_device.Now();
  constexpr struct {
    int64_t begin, end;
  } kTimes[] = {{0, 100}, {50, 150}, {100, 120}, {60, 170}, {170, 180}};
  for (const auto& time : kTimes) {
    Run(queue);
    FakeDriver::CompleteAt(FakeDriver::last, now + time.begin, now + time.end);
  }
  const std::vector<StubHost::Span> spans = host->spans();
  ASSERT_EQ(spans.size(), 5u);
  for (const StubHost::Span& a : spans) {
    for (const StubHost::Span& b : spans) {
      if (&a != &b && a.track == b.track) {
        EXPECT_TRUE(a.end_ns <= b.begin_ns || b.end_ns <= a.begin_ns);
      }
    }
  }
  EXPECT_EQ(spans[0].track, spans[2].track);
  EXPECT_NE(host->track(spans[0].track).queue, host->track(spans[1].track).queue);
  table->clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, TracksOfAQueueAreBoundedAndTheRestIsCounted) {
  constexpr int kBound = 512, kMore = 10;
  const cl_command_queue queue = MakeQueue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const int64_t now = plain_device.Now();
  for (int i = 0; i < kBound + kMore; ++i) {
    Run(queue);
    FakeDriver::CompleteAt(FakeDriver::last, now, now + 100 + i);
  }
  std::set<uint32_t> tracks;
  for (const StubHost::Span& span : host->spans()) tracks.insert(span.track);
  EXPECT_EQ(host->spans().size(), size_t{kBound});
  EXPECT_EQ(tracks.size(), size_t{kBound});
  host->Flush();
  EXPECT_EQ(host->lost(), uint64_t{kMore});
  table->clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, SpansThatAreToldLateFindTheirPlaceBetweenOthers) {
  const cl_command_queue queue = MakeQueue();
  std::vector<FakeEvent*> events;
  for (int i = 0; i < 60; ++i) {
    Run(queue);
    events.push_back(FakeDriver::last);
  }
  const int64_t now = plain_device.Now();
  // Every third is told first.
  for (const int remainder : {0, 2, 1}) {
    for (int i = remainder; i < 24; i += 3) {
      FakeDriver::CompleteAt(events[i], now + 100 * i, now + 100 * i + 90);
    }
  }
  for (int i = 24; i < 60; ++i)
    FakeDriver::CompleteAt(events[i], now + 100 * i, now + 100 * i + 90);
  ASSERT_EQ(host->spans().size(), 60u);
  for (const StubHost::Span& span : host->spans()) EXPECT_EQ(span.track, host->spans()[0].track);
  host->Flush();
  EXPECT_EQ(host->lost(), 0u);
  table->clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, AQueueReleasedWithWorkUnderWayKeepsItsTrackToTheEnd) {
  const cl_command_queue first = MakeQueue();
  RunToEnd(first);
  const uint32_t track = host->spans().back().track;
  Run(first);
  FakeEvent* event = FakeDriver::last;
  ++event->queue->references;  // a driver keeps a queue that has work
  table->clReleaseCommandQueue(first);
  const cl_command_queue second = MakeQueue();
  RunToEnd(second);
  EXPECT_NE(host->spans().back().track, track);
  FakeQueue* old = event->queue;
  FakeDriver::Complete(event);
  EXPECT_EQ(host->spans().back().track, track);
  FakeDriver::Table().clReleaseCommandQueue(reinterpret_cast<cl_command_queue>(old));
  table->clReleaseCommandQueue(second);
}

TEST_F(LayerTest, QueuesMadePastUsAreRecordedAsTheyAre) {
  const cl_icd_dispatch driver = FakeDriver::Table();
  auto make = [&](cl_command_queue_properties flags) {
    return driver.clCreateCommandQueue(nullptr, FakeDriver::Handle(plain_device), flags, nullptr);
  };
  const cl_command_queue profiled = make(CL_QUEUE_PROFILING_ENABLE);
  RunToEnd(profiled);
  EXPECT_EQ(host->spans().size(), 1u);
  const cl_command_queue bare = make(0);
  RunToEnd(bare);
  EXPECT_EQ(host->spans().size(), 1u);
  host->Flush();
  EXPECT_EQ(host->lost(), 1u);
  EXPECT_EQ(Run(nullptr), CL_INVALID_COMMAND_QUEUE);
  table->clReleaseCommandQueue(profiled);
  table->clReleaseCommandQueue(bare);
}

TEST_F(LayerTest, StartStopCyclesLeaveNothingBehind) {
  const cl_command_queue queue = MakeQueue();
  auto resident_kib = [] {  // to the page, unlike statm
    std::ifstream file("/proc/self/smaps_rollup");
    std::string word;
    long kib = 0;
    while (file >> word && word != "Rss:") {
    }
    file >> kib;
    return kib;
  };
  auto descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  host->KeepNothing(true);
  auto cycles = [&](int count) {
    for (int i = 0; i < count; ++i) {
      RunToEnd(queue);
      host->Flush();
      host->Stop();
      ASSERT_EQ(host->Collect(), 0u);
      host->Start();
    }
  };
  resident_kib();
  descriptors();
  cycles(1000);
  const long before_kib = resident_kib();
  const auto before_descriptors = descriptors();
  const uint64_t before_pushed = host->pushed();
  cycles(10'000);
  EXPECT_LE(resident_kib() - before_kib, kRoomKib);
  EXPECT_EQ(descriptors(), before_descriptors);
  EXPECT_EQ(host->pushed() - before_pushed, 20'000u);  // a call and a kernel each
  EXPECT_TRUE(FakeDriver::events.empty());
  EXPECT_EQ(host->lost(), 0u);
  host->KeepNothing(false);
  table->clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, AForkedChildRecordsNothing) {
  const cl_command_queue queue = MakeQueue();
  host->Clear();
  const pid_t child = fork();
  if (child == 0) {
    const bool ran = Run(queue) == CL_SUCCESS && FakeDriver::last->references == 1;
    _exit(ran && host->calls().empty() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  RunToEnd(queue);
  EXPECT_EQ(host->spans().size(), 1u);
  table->clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, TellsWhatItsProbesCost) {
  std::vector<StubHost::Cost> costs;
  const auto seen = [&] {
    return costs.size() == 2 && costs[0].outside_ps > 0 && costs[1].outside_ps > 0;
  };
  host->Stop();
  // A machine too busy to see the part outside the span is asked again.
  for (int i = 0; i < 20 && !seen(); ++i) {
    host->Calibrate();
    ASSERT_GE(host->costs().size(), 2u);
    costs.assign(host->costs().end() - 2, host->costs().end());
  }
  host->Start();
  for (const StubHost::Cost& cost : costs) {
    EXPECT_GT(cost.inside_ps, 0) << cost.probe;
    EXPECT_GT(cost.outside_ps, 0) << cost.probe;
    EXPECT_LE(cost.low_ps, cost.inside_ps + cost.outside_ps);
    EXPECT_GE(cost.high_ps, cost.inside_ps + cost.outside_ps);
    EXPECT_GT(cost.samples, 1000);
  }
  EXPECT_EQ(costs[0].probe, "opencl call");
  EXPECT_EQ(costs[1].probe, "opencl enqueue");
  EXPECT_STREQ(host->profiler().device_type, "OPENCL");
}

}  // namespace
}  // namespace crosscut::opencl
