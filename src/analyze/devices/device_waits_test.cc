// For which work calls of many threads wait, against a brute force.
#include "src/analyze/devices/device_waits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "src/analyze/testing/test_trace.h"

namespace crosscut::analyze {
namespace {

using testing::Parse;

struct Drawn {
  int64_t begin, end, stream;  // of a call: which it says it waits for; -1: it says nothing
};

std::string Line(const char* what, const Drawn& drawn, const char* layer) {
  return std::string("span ") + what + " " + std::to_string(drawn.begin) + " " +
         std::to_string(drawn.end) + " " + layer + "\n";
}

struct Scene {
  std::string text;
  std::vector<int64_t> launched;  // of each work, when
  std::vector<bool> linked;       // whether that is known
  std::vector<Drawn> work, calls;
};

Scene Draw(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](int64_t most) { return static_cast<int64_t>(random()) % most; };
  Scene out;
  std::string& text = out.text;
  text = "# crosscut trace\nprocess p pid=1 window=0..100000\nthread main tid=1 lead\n";
  for (int i = 0; i < 40; ++i) {
    out.launched.push_back(100 * i + below(50));
    text += Line("cudaLaunchKernel", {out.launched.back(), out.launched.back() + 10, 0}, "runtime");
    out.linked.push_back(below(4) != 0);
    if (!out.linked.back()) continue;
    text += "out " + std::to_string(i + 1) + " " + std::to_string(out.launched.back()) + "\n";
  }
  for (int i = 0; i < 20; ++i) {
    const int64_t begin = below(5000), stream = below(3) - 1;
    out.calls.push_back({begin, begin + 1 + below(4000), stream});
    text += "thread t" + std::to_string(i) + " tid=" + std::to_string(10 + i) + "\n" +
            Line("cudaStreamSynchronize", out.calls.back(), "runtime") + "arg correlation " +
            std::to_string(1000 + i) + "\n";
  }
  int64_t free[2] = {0, 0};
  std::string of_stream[2];
  for (int i = 0; i < 40; ++i) {
    const int64_t stream = below(2);
    const int64_t begin =
        std::max(free[stream], out.launched[static_cast<size_t>(i)] + 20 + below(90));
    free[stream] = begin + 1 + below(200);
    out.work.push_back({begin, free[stream], stream});
    of_stream[stream] += Line("kernel", out.work.back(), "device");
    if (out.linked[static_cast<size_t>(i)]) {
      of_stream[stream] += "in " + std::to_string(i + 1) + " " + std::to_string(begin) + "\n";
    }
  }
  for (int s = 0; s < 2; ++s) {
    text += "device gpu device=0 stream=" + std::to_string(s) + "\n" + of_stream[s];
  }
  text += "device records device=0 stream=9\n";  // of the waits that say for what
  for (size_t i = 0; i < out.calls.size(); ++i) {
    if (out.calls[i].stream < 0) continue;
    text += Line("wait", {out.calls[i].begin, out.calls[i].end, 0}, "idle") + "arg correlation " +
            std::to_string(1000 + i) + "\narg stream " + std::to_string(out.calls[i].stream) + "\n";
  }
  return out;
}

TEST(DeviceWaits, AreForTheLastWorkThatWasLaunchedBeforeAndEndsWithin) {
  int waited = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    const auto [text, launched, linked, work, calls] = Draw(seed);
    const trace::Trace trace = Parse(text);
    const Context context(trace);
    std::map<int64_t, int64_t> got;  // by begin of the call: the end of the work
    for (const ProcessWork& process : context.Shared<DeviceWork>().processes) {
      for (const DeviceWait& wait : FindDeviceWaits(trace, context, process)) {
        got[IntervalOf(trace, wait.track, wait.call).begin_ns] = process.events[wait.event].end_ns;
      }
    }
    std::map<int64_t, int64_t> expected;
    for (const Drawn& call : calls) {
      for (size_t i = 0; i < work.size(); ++i) {
        const bool before = !linked[i] || launched[i] < call.begin;
        const bool within = work[i].end > call.begin && work[i].end <= call.end;
        const bool fits = call.stream < 0 || call.stream == work[i].stream;
        if (!before || !within || !fits) continue;
        expected[call.begin] = std::max(expected[call.begin], work[i].end);
      }
    }
    waited += static_cast<int>(expected.size());
    EXPECT_EQ(got, expected) << seed << "\n" << text;
  }
  EXPECT_GT(waited, 300);
}

}  // namespace
}  // namespace crosscut::analyze
