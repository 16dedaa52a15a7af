#include "metrics.h"

#include <cupti_runtime_cbid.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <thread>

#include "session.h"
#include "testing/fake_cupti.h"
#include "testing/recording_host.h"
#include "testing/their_profiler.h"

namespace crosscut::cupti {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kCycles[] = "sm__cycles_elapsed.max", kBytes[] = "dram__bytes.sum",
               kInstructions[] = "smsp__inst_executed.sum";
constexpr const char* kAll[] = {kCycles, kBytes, kInstructions};

// Of any size, whole or not.
double Planted(const std::string& metric, uint32_t launch) {
  std::mt19937_64 random(std::hash<std::string>()(metric) ^ launch);
  const double mantissa = static_cast<double>(random() >> 11) / (uint64_t{1} << 53);
  switch (random() % 4) {
    case 0: return 0;
    case 1: return static_cast<double>(random() % 1000);
    case 2: return mantissa * 1e15;
    default: return mantissa;
  }
}

// The number of `key` in a flat JSON object.
std::optional<double> NumberOf(const std::string& json, const std::string& key) {
  const std::string quoted = '"' + key + "\": ";
  const size_t at = json.find(quoted);
  if (at == std::string::npos) return {};
  return std::strtod(json.c_str() + at + quoted.size(), nullptr);
}

class CuptiMetrics : public ::testing::Test {
 protected:
  CuptiMetrics() {
    host.options["metrics"] = std::string(kCycles) + "+" + kBytes + "+" + kInstructions;
    host.options["flows"] = "4096";
    cupti.counters.value = Planted;
  }
  void Start() {
    if (session_ == nullptr) session_ = std::make_unique<Session>(host.abi(), cupti.table());
    session_->Start();
    while (!session_->AwaitAttachment()) {
    }
  }
  void Stop() { session_->Stop(); }

  // A kernel of that launch, and its record for each time that it runs.
  void Run(uint32_t launch, int thread = 0) {
    for (size_t left = cupti.counters.Run(FakeCupti::Context(), launch); left > 0; --left) {
      const int64_t now = cupti.Now();
      CUpti_ActivityKernel7 kernel = FakeCupti::Kernel(launch, now, now + 10);
      kernel.gridX = static_cast<int32_t>(launch);
      cupti.Put(kernel, thread);
    }
  }
  template <class Inside>
  uint32_t Launch(Inside inside) {
    return cupti.Call(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
                      "cudaLaunchKernel", inside);
  }
  uint32_t Launch() {
    return Launch([&](uint32_t id) { Run(id); });
  }
  // The events of a launch's kernel.
  std::vector<RecordingHost::Event> EventsOf(uint32_t launch) const {
    std::vector<RecordingHost::Event> found;
    for (const auto& event : host.events) {
      const auto grid = event.args.find("grid_x");
      if (grid != event.args.end() && grid->second == launch) found.push_back(event);
    }
    return found;
  }
  static std::string MetricsOf(const RecordingHost::Event& event) {
    const auto found = event.words.find("{}");
    return found == event.words.end() ? "" : found->second;
  }
  void ExpectValues(const std::string& json, uint32_t launch) {
    for (const char* metric : kAll) {
      EXPECT_EQ(NumberOf(json, metric), Planted(metric, launch)) << json;
    }
  }
  // Everything but metrics is recorded, and these are missing for a reason.
  void ExpectRecordedWithout(const std::string& reason) {
    Start();
    const uint32_t launches[] = {Launch(), Launch()};
    Stop();
    for (const uint32_t launch : launches) {
      ASSERT_EQ(EventsOf(launch).size(), 1u);
      EXPECT_EQ(MetricsOf(EventsOf(launch)[0]), "");
      EXPECT_NE(EventsOf(launch)[0].flow_in, 0u);
    }
    EXPECT_EQ(host.calls.size(), 2u);
    EXPECT_EQ(host.Last().state, "conflict");
    EXPECT_THAT(host.Last().message, HasSubstr("hardware metrics are missing: "));
    EXPECT_THAT(host.Last().message, HasSubstr(reason));
    host.events.clear();
    host.calls.clear();
  }

  RecordingHost host;
  FakeCupti cupti;
  std::unique_ptr<Session> session_;
};

TEST_F(CuptiMetrics, AreNotTouchedUnlessAskedFor) {
  host.options.clear();
  Start();
  Launch();
  Stop();
  for (const auto& [function, times] : cupti.asked) {
    EXPECT_THAT(function, Not(HasSubstr("Profiler")));
  }
  EXPECT_EQ(host.Last().state, "on");
  EXPECT_THAT(host.Last().message, Not(HasSubstr("metric")));
}

TEST_F(CuptiMetrics, OfAKernelAreArgumentsOfIt) {
  Start();
  const uint32_t launch = Launch();
  EXPECT_GT(cupti.counters.open(), 0u);
  Stop();
  ASSERT_EQ(EventsOf(launch).size(), 1u);
  ExpectValues(MetricsOf(EventsOf(launch)[0]), launch);
  EXPECT_EQ(NumberOf(MetricsOf(EventsOf(launch)[0]), "metric_passes"), 1);
  EXPECT_EQ(host.Last().state, "on");
  EXPECT_THAT(host.Last().message, HasSubstr("hardware metrics of 1 of 1 launches of kernels"));
  EXPECT_EQ(cupti.counters.open(), 0u);
  EXPECT_FALSE(cupti.counters.is_initialized());
  const auto units = host.Named("Hardware metrics");
  ASSERT_EQ(units.size(), 1u);
  EXPECT_THAT(MetricsOf(units[0]), HasSubstr("\"dram__bytes.sum unit\": \"bytes\""));
  EXPECT_EQ(NumberOf(MetricsOf(units[0]), kBytes), std::nullopt);
}

TEST_F(CuptiMetrics, OfAWindowAreThoseOfAllThatRanInIt) {
  host.options["metrics_per"] = "window";
  Start();
  std::map<uintptr_t, std::vector<uint32_t>> launches;
  for (const uintptr_t context : {1, 2, 1, 1, 2}) {
    FakeCupti::context = context;
    launches[context].push_back(Launch());
  }
  FakeCupti::context = 1;
  Stop();
  const auto windows = host.Named("Hardware metrics");
  ASSERT_EQ(windows.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    for (const char* metric : kAll) {
      double sum = 0;
      for (const uint32_t launch : launches[i + 1]) sum += Planted(metric, launch);
      EXPECT_EQ(NumberOf(MetricsOf(windows[i]), metric), sum);
    }
  }
  EXPECT_EQ(MetricsOf(EventsOf(launches[1][0])[0]), "");
  EXPECT_EQ(host.Last().state, "on");
}

TEST_F(CuptiMetrics, RunKernelsMoreThanOnceOnlyWhereThatIsAskedFor) {
  cupti.counters.metrics_a_pass = 1;
  ExpectRecordedWithout("needs 3 passes for these metrics: ask for fewer, or have each kernel run");
  host.options["metrics_per"] = "window";
  ExpectRecordedWithout("metrics_per=kernel, metrics_replay=on");
  host.options["metrics_per"] = "kernel";
  host.options["metrics_replay"] = "on";
  Start();
  const uint32_t launch = Launch();
  Stop();
  ASSERT_EQ(EventsOf(launch).size(), 1u);
  ExpectValues(MetricsOf(EventsOf(launch)[0]), launch);
  EXPECT_EQ(NumberOf(MetricsOf(EventsOf(launch)[0]), "metric_passes"), 3);
  EXPECT_THAT(host.Last().message, HasSubstr("2 passes more for metrics"));
}

TEST_F(CuptiMetrics, ThatTheDeviceDoesNotHaveAreNamedAndTheOthersRead) {
  host.options["metrics"] = "sm__of_tomorrow.sum+dram__bytes.sum+a\"b";
  Start();
  const uint32_t launch = Launch();
  Stop();
  EXPECT_EQ(NumberOf(MetricsOf(EventsOf(launch)[0]), kBytes), Planted(kBytes, launch));
  EXPECT_EQ(host.Last().state, "conflict");
  EXPECT_THAT(host.Last().message, HasSubstr("no metric a\"b, sm__of_tomorrow.sum"));
  EXPECT_THAT(host.Last().message, HasSubstr("ncu --query-metrics"));
  host.options["metrics"] = "sm__of_tomorrow.sum";
  host.events.clear();
  host.calls.clear();
  ExpectRecordedWithout("none of these metrics is known");
}

TEST_F(CuptiMetrics, EachNameThatIsUnknownIsNamedOnceEvenIfItIsPartOfAnother) {
  host.options["metrics"] = "xa\"b+a\"b+xa\"b+of_tomorrow.sum+morrow.sum";
  ExpectRecordedWithout("no metric xa\"b, a\"b, of_tomorrow.sum, morrow.sum");
}

TEST_F(CuptiMetrics, AreMissingWithAReasonWhereCuptiRefusesThem) {
  for (const char* function :
       {"GetDeviceId", "DeviceGetChipName", "ProfilerInitialize", "ProfilerHostInitialize",
        "ProfilerHostGetMetricProperties", "ProfilerHostConfigAddMetrics",
        "ProfilerHostGetConfigImageSize", "ProfilerHostGetConfigImage",
        "ProfilerHostGetNumOfPasses", "RangeProfilerEnable", "RangeProfilerGetCounterDataSize",
        "RangeProfilerCounterDataImageInitialize", "RangeProfilerSetConfig", "RangeProfilerStart",
        "RangeProfilerStop", "RangeProfilerDecodeData", "RangeProfilerGetCounterDataInfo",
        "ProfilerHostEvaluateToGpuValues"}) {
    SCOPED_TRACE(function);
    cupti.refuse[function] = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    ExpectRecordedWithout("NVreg_RestrictProfilingToAdminUsers=0 or record as root");
    EXPECT_THAT(host.Last().message, HasSubstr(std::string("cupti") + function));
    EXPECT_EQ(cupti.counters.open(), 0u);
    cupti.refuse.clear();
  }
  cupti.refuse["ProfilerHostInitialize"] = CUPTI_ERROR_NOT_INITIALIZED;
  ExpectRecordedWithout("put their folder into LD_LIBRARY_PATH");
  cupti.refuse.clear();
  Api api = cupti.table();
  api.RangeProfilerStart = nullptr;
  session_ = std::make_unique<Session>(host.abi(), api);
  ExpectRecordedWithout("no cuptiRangeProfilerStart: use one of CUDA 12.6 or newer");
}

TEST_F(CuptiMetrics, AreOffWhileTheProgramsOwnProfilerHasCupti) {
  Start();
  Launch();
  TheirProfiler theirs(&cupti, TheirProfiler::Kind::kRecordsOnly);
  session_->OtherProfiler("torch.profiler", CROSSCUT_PROFILERS_CHANGING, 1);
  EXPECT_EQ(cupti.counters.open(), 0u);
  EXPECT_FALSE(cupti.counters.is_initialized());
  theirs.Begin();
  session_->OtherProfiler("torch.profiler", CROSSCUT_PROFILERS_RUNNING, 2);
  Launch();
  EXPECT_EQ(cupti.counters.open(), 0u);
  session_->OtherProfiler("torch.profiler", CROSSCUT_PROFILERS_CHANGING, 3);
  theirs.End();
  session_->OtherProfiler("torch.profiler", CROSSCUT_PROFILERS_NONE, 4);
  while (!session_->AwaitAttachment()) {
  }
  const uint32_t launch = Launch();
  Stop();
  ASSERT_EQ(EventsOf(launch).size(), 1u);
  ExpectValues(MetricsOf(EventsOf(launch)[0]), launch);
  EXPECT_THAT(host.Last().message, HasSubstr("hardware metrics of 2 of 2 launches"));
}

// Sessions of drawn launches: some with no kernel or with two, some beside another thread's launch
// or graph in the same context or in another, some in control steps, some that the records of come
// late; contexts go and come. A kernel has the metrics planted for it, or it is one of those that
// cannot be told apart, and these are counted.
class CuptiMetricsDrawn : public CuptiMetrics {
 protected:
  struct Drawn {
    uintptr_t context;
    bool is_graph, in_step;
    int kernels;
    bool beside = false;  // another call gives its context work at the same time
    uint32_t id = 0;
  };
  Drawn Draw() {
    Drawn one = {};
    one.context = 1 + random_() % 2;
    one.is_graph = random_() % 5 == 0;
    constexpr int kKernels[] = {1, 1, 1, 1, 0, 2};
    one.kernels = kKernels[random_() % std::size(kKernels)];
    return one;
  }
  // One call, in which `meanwhile` happens before or behind its kernels.
  void Call(
      Drawn* one, int thread, const std::function<void()>& meanwhile = [] {}) {
    const bool before = random_() % 2 == 0;
    FakeCupti::context = one->context;
    one->in_step = in_step_;
    const auto inside = [&](uint32_t id) {
      if (before) meanwhile();
      FakeCupti::context = one->context;
      for (int i = 0; i < one->kernels; ++i) Run(id, thread);
      if (!before) meanwhile();
    };
    one->id = one->is_graph ? cupti.Call(CUPTI_CB_DOMAIN_RUNTIME_API,
                                         CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000,
                                         "cudaGraphLaunch", inside)
                            : Launch(inside);
  }
  void Step() {
    const uint32_t kind = random_() % 12;
    if (kind == 0) {
      in_step_ = !in_step_;
      session_->SetLevel(in_step_ ? 0 : 3);
    } else if (kind == 1) {
      session_->Flush();
    } else if (kind == 2 && destroyed_++ < 10) {
      FakeCupti::context = 1 + random_() % 2;
      cupti.DestroyContext();
    } else if (kind < 7) {
      Drawn outer = Draw(), inner = Draw();
      outer.beside = inner.beside = outer.context == inner.context;
      Call(&outer, 0, [&] { std::thread([&] { Call(&inner, 1); }).join(); });
      drawn_.push_back(outer);
      drawn_.push_back(inner);
    } else {
      drawn_.push_back(Draw());
      Call(&drawn_.back(), 0);
    }
  }

  std::mt19937 random_{47};
  bool in_step_ = false;
  int destroyed_ = 0;
  std::vector<Drawn> drawn_;
};

TEST_F(CuptiMetricsDrawn, AreThoseOfTheKernelTheyStandAtOrMissing) {
  host.options["metrics_replay"] = "on";
  size_t measured_in_all = 0, beside_in_all = 0;
  for (int session = 0; session < 1000; ++session) {
    cupti.counters.metrics_a_pass = 1 + random_() % 3;
    host.events.clear();
    drawn_.clear();
    destroyed_ = 0;
    Start();
    session_->SetLevel(in_step_ ? 0 : 3);
    for (int i = 0; i < 25; ++i) Step();
    Stop();
    size_t measured = 0, asked = 0;
    for (const Drawn& one : drawn_) {
      const bool wanted = !one.is_graph && !one.in_step;
      const bool told_apart = wanted && !one.beside && one.kernels == 1;
      asked += wanted ? 1 : 0;
      measured += told_apart ? 1 : 0;
      beside_in_all += one.beside ? 1 : 0;
      const auto events = EventsOf(one.id);
      ASSERT_EQ(events.empty(), one.in_step || one.kernels == 0);
      if (told_apart) {
        ASSERT_EQ(events.size(), 1u);
        ExpectValues(MetricsOf(events[0]), one.id);
      }
      for (const auto& event : events) ASSERT_EQ(MetricsOf(event).empty(), !told_apart);
    }
    if (asked != 0) {
      ASSERT_THAT(host.Last().message,
                  HasSubstr("hardware metrics of " + std::to_string(measured) + " of " +
                            std::to_string(asked) + " launches of kernels"));
    }
    ASSERT_EQ(cupti.counters.open(), 0u);
    measured_in_all += measured;
  }
  EXPECT_GT(measured_in_all, 1000u);
  EXPECT_GT(beside_in_all, 1000u);
}

// Threads that launch as they like, while the session flushes and ends.
TEST_F(CuptiMetrics, OfThreadsThatLaunchAtOnceAreNeverAnothersKernels) {
  for (int session = 0; session < 20; ++session) {
    host.events.clear();
    host.open_calls = 0;
    Start();
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([this, t] {
        FakeCupti::context = 1 + static_cast<uintptr_t>(t % 2);
        for (int i = 0; i < 200; ++i) Launch([&](uint32_t id) { Run(id, t); });
      });
    }
    session_->Flush();
    if (session % 2 == 0) Stop();
    for (std::thread& thread : threads) thread.join();
    if (session % 2 != 0) Stop();
    for (const auto& event : host.events) {
      const std::string json = MetricsOf(event);
      if (json.empty() || event.args.count("grid_x") == 0) continue;
      ExpectValues(json, static_cast<uint32_t>(event.args.at("grid_x")));
    }
    ASSERT_EQ(cupti.counters.open(), 0u);
    if (session % 2 != 0) {  // a stop amid calls waits for their ends for a time only
      ASSERT_EQ(host.open_calls, 0);
    }
  }
}

}  // namespace
}  // namespace crosscut::cupti
