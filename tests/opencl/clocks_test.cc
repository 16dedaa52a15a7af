// The clock of a device's stamps is found, told and right within what is told.
#include <cstdlib>

#include "layer_fixture.h"

namespace crosscut::opencl {
namespace {

class ClocksTest : public LayerTest {
 protected:
  // Runs some kernels and checks that by the readings given to the host every one begins between
  // its call and the moment when it is seen to be complete, but for the error of the reading.
  void Check(FakeDevice& device, const std::string& clock_name) {
    const cl_command_queue queue = MakeQueue(0, device);
    host->Clear();
    std::vector<int64_t> complete_ns;
    for (int i = 0; i < 200; ++i) {
      RunToEnd(queue);
      complete_ns.push_back(StubHost::Now());
    }
    host->Flush();
    const std::vector<StubHost::Span> spans = host->spans();
    const std::vector<StubHost::Call> calls = host->calls();
    ASSERT_EQ(spans.size(), 200u);
    const StubHost::Track track = host->track(spans[0].track);
    EXPECT_NE(host->clock(track.clock).find(clock_name), std::string::npos)
        << host->clock(track.clock);
    EXPECT_NE(host->told().find(device.name), std::string::npos) << host->told();
    for (size_t i = 0; i < spans.size(); ++i) {
      const StubHost::Reading reading = Nearest(track.clock, spans[i].begin_ns);
      const int64_t begin = spans[i].begin_ns - reading.device_ns + reading.host_ns;
      EXPECT_GE(begin, calls[i].begin_ns - reading.error_ns);
      EXPECT_LE(begin, complete_ns[i] + reading.error_ns);
      EXPECT_LT(reading.error_ns, 200'000);
    }
    table->clReleaseCommandQueue(queue);
  }
  static StubHost::Reading Nearest(uint32_t clock, int64_t device_ns) {
    if (clock == CROSSCUT_CLOCK_MONOTONIC) return {};
    StubHost::Reading best;
    int64_t distance = INT64_MAX;
    for (const StubHost::Reading& reading : host->readings()) {
      const int64_t this_one = std::llabs(reading.device_ns - device_ns);
      if (reading.clock != clock || this_one >= distance) continue;
      distance = this_one;
      best = reading;
    }
    EXPECT_NE(distance, INT64_MAX) << "no reading of clock " << clock;
    return best;
  }
};

TEST_F(ClocksTest, RawMonotonic) {
  static FakeDevice device{"raw device", "OpenCL 1.2 fake", FakeDevice::kRaw};
  Check(device, "CLOCK_MONOTONIC_RAW");
}

TEST_F(ClocksTest, Monotonic) {
  static FakeDevice device{"monotonic device", "OpenCL 1.2 fake", FakeDevice::kMonotonic};
  Check(device, "monotonic");
}

TEST_F(ClocksTest, ATimerOfTheDevice) {
  static FakeDevice device{"timer device", "OpenCL 3.0 fake", FakeDevice::kTimer};
  Check(device, "the device's timer");
}

TEST_F(ClocksTest, AnUnknownClockIsReadByEventsBetweenReadingsOfTheHost) {
  static FakeDevice device{"odd device", "OpenCL 1.2 fake", FakeDevice::kOther};
  Check(device, "a clock of its own");
}

TEST_F(ClocksTest, RealTimeIsKnownToTheHost) {
  static FakeDevice device{"realtime device", "OpenCL 1.2 fake", FakeDevice::kRealtime};
  const cl_command_queue queue = MakeQueue(0, device);
  RunToEnd(queue);
  EXPECT_EQ(host->track(host->spans().back().track).clock, uint32_t{CROSSCUT_CLOCK_REALTIME});
  table->clReleaseCommandQueue(queue);
}

TEST_F(ClocksTest, ADriverOfOpenCl10IsNotAskedForWhatItHasNot) {
  static FakeDevice device{"old device", "OpenCL 1.0 fake", FakeDevice::kRaw};
  const cl_command_queue queue = MakeQueue(0, device);
  Run(queue);
  EXPECT_TRUE(FakeDriver::last->callbacks.empty());
  FakeDriver::Complete(FakeDriver::last);
  host->Flush();
  EXPECT_EQ(host->lost(), 1u);
  table->clReleaseCommandQueue(queue);
}

}  // namespace
}  // namespace crosscut::opencl
