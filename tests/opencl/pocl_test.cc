// The plugin inside a real OpenCL: the system's loader, its first device, with a stub host.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>

#include "stub_host.h"

#ifdef __SANITIZE_ADDRESS__
// Of the driver's own: what its compiler, which runs where no kernel is cached, leaves behind.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions() {
  return "leak:libpocl\nleak:libLLVM\nleak:libclang-cpp\n";
}
#endif

namespace crosscut::opencl {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr long kRoomKib = 256 << 10;  // they keep what is freed, and notes of their own
#else
constexpr long kRoomKib = 64;
#endif

// The loader reads this at the first call of OpenCL in the process.
const int kLayered = setenv("OPENCL_LAYERS", OPENCL_PLUGIN, 1);

class PoclTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(kLayered, 0);
    cl_platform_id platform = nullptr;
    ASSERT_EQ(clGetPlatformIDs(1, &platform, nullptr), CL_SUCCESS);
    ASSERT_EQ(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), CL_SUCCESS);
    void* library = dlopen(OPENCL_PLUGIN, RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(library, nullptr) << "the loader did not load the layer";
    host = new StubHost;
    host->Register(reinterpret_cast<void (*)(TF_ProfilerRegistrationParams*, TF_Status*)>(
        dlsym(library, "TF_InitProfiler")));
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    const char* source =
        "kernel void bump(global int* a) { atomic_inc(a + get_global_id(0)); }"
        "kernel void spin(global int* a) {"
        "  int x = a[0]; for (int i = 0; i < 2000000; ++i) x = x * 3 + i; a[1] = x; }";
    program = clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
    ASSERT_EQ(clBuildProgram(program, 1, &device, "", nullptr, nullptr), CL_SUCCESS);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 256, nullptr, nullptr);
    CompileKernels();
  }

  // PoCL compiles a kernel when it first runs, after its begin is stamped: everything that is
  // enqueued meanwhile would seem to run at once, and more of it than there are tracks for.
  static void CompileKernels() {
    const cl_command_queue queue = MakeQueue();
    for (const char* name : {"bump", "spin"}) {
      const cl_kernel kernel = MakeKernel(name);
      ASSERT_EQ(Run(queue, kernel), CL_SUCCESS);
      clFinish(queue);
      clReleaseKernel(kernel);
    }
    clReleaseCommandQueue(queue);
  }

  void SetUp() override {
    host->Level(3);
    host->Start();
    host->Clear();
  }
  void TearDown() override {
    host->Stop();
    EXPECT_EQ(host->open_spans(), 0u);
  }

  static cl_command_queue MakeQueue(cl_command_queue_properties flags = 0) {
    const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, flags, 0};
    return clCreateCommandQueueWithProperties(context, device, list, nullptr);
  }
  static cl_kernel MakeKernel(const char* name = "bump") {
    cl_kernel kernel = clCreateKernel(program, name, nullptr);
    clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffer);
    return kernel;
  }
  static cl_int Run(cl_command_queue queue, cl_kernel kernel, cl_event* event = nullptr,
                    const cl_event* after = nullptr) {
    const size_t size = 16;
    return clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &size, nullptr,
                                  after != nullptr ? 1 : 0, after, event);
  }
  // Those to which the driver's thread has pushed all that belongs to them, to the last argument.
  static std::vector<StubHost::Span> WholeSpans() {
    std::vector<StubHost::Span> spans = host->spans();
    const auto in_the_making = [](const StubHost::Span& span) {
      return span.args.count("submit_to_start_ns") == 0;
    };
    spans.erase(std::remove_if(spans.begin(), spans.end(), in_the_making), spans.end());
    return spans;
  }
  // The driver calls back after clFinish may have returned.
  static std::vector<StubHost::Span> SpansOnceThereAre(size_t count) {
    for (int i = 0; i < 2000 && WholeSpans().size() < count; ++i) usleep(1000);
    return WholeSpans();
  }

  // Of that name; a test before this one may have left some of its own under way.
  static StubHost::Span SpanOnceThereIs(const std::string& name) {
    for (int i = 0; i < 2000; ++i, usleep(1000)) {
      for (const StubHost::Span& span : WholeSpans()) {
        if (span.name == name) return span;
      }
    }
    ADD_FAILURE() << "no span " << name;
    return {};
  }

  static inline cl_device_id device = nullptr;
  static inline cl_context context = nullptr;
  static inline cl_program program = nullptr;
  static inline cl_mem buffer = nullptr;
  static inline StubHost* host = nullptr;
};

int64_t ToHost(const StubHost::Reading& reading, int64_t device_ns) {
  return device_ns - reading.device_ns + reading.host_ns;
}

TEST_F(PoclTest, ThreadsAndQueuesLoseNothingAndNoKernelRunsBeforeItsEnqueue) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "so slow that commands of one queue overlap by the hundred: more than its lanes";
#endif
  constexpr int kThreads = 4, kKernels = 500;
  constexpr int kAtOnce =
      64;  // of a thread's: to PoCL all that it was handed runs, on a track each
  const cl_command_queue shared = MakeQueue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      const cl_command_queue own = MakeQueue();
      const cl_kernel kernel = MakeKernel();
      for (int i = 0; i < kKernels; ++i) {
        cl_event event = nullptr;
        EXPECT_EQ(Run(own, kernel), CL_SUCCESS);
        EXPECT_EQ(Run(shared, kernel, &event), CL_SUCCESS);
        clReleaseEvent(event);
        if (i % kAtOnce == kAtOnce - 1) clFinish(shared);
      }
      clReleaseKernel(kernel);
      clFinish(own);
      clReleaseCommandQueue(own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  clFinish(shared);
  clReleaseCommandQueue(shared);
  constexpr size_t kAll = 2 * kThreads * kKernels;
  const std::vector<StubHost::Span> spans = SpansOnceThereAre(kAll);
  host->Flush();
  EXPECT_EQ(host->lost(), 0u) << host->told();
  ASSERT_EQ(spans.size(), kAll);

  std::map<uint64_t, StubHost::Call> calls;
  for (const StubHost::Call& call : host->calls()) {
    if (call.flow != 0) calls[call.flow] = call;
  }
  ASSERT_EQ(calls.size(), kAll);
  std::set<uint64_t> flows;
  const StubHost::Reading reading = host->readings().back();
  for (const StubHost::Span& span : spans) {
    flows.insert(span.flow);
    EXPECT_EQ(span.name, "bump");
    EXPECT_GE(ToHost(reading, span.begin_ns), calls.at(span.flow).begin_ns - reading.error_ns);
  }
  EXPECT_EQ(flows.size(), kAll);
  EXPECT_LT(reading.error_ns, 1'000'000);
}

TEST_F(PoclTest, SpansOfATrackDoNotOverlap) {
  const cl_command_queue queue = MakeQueue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const cl_kernel kernel = MakeKernel();
  for (int i = 0; i < 2000; ++i) Run(queue, kernel);
  clFinish(queue);
  const std::vector<StubHost::Span> spans = SpansOnceThereAre(2000);
  std::map<uint32_t, std::map<int64_t, int64_t>> tracks;
  for (const StubHost::Span& span : spans) tracks[span.track][span.begin_ns] = span.end_ns;
  for (const auto& [track, ends] : tracks) {
    int64_t last_end = 0;
    for (const auto& [begin, end] : ends) {
      EXPECT_GE(begin, last_end) << host->track(track).name;
      last_end = end;
    }
  }
  clReleaseKernel(kernel);
  clReleaseCommandQueue(queue);
}

TEST_F(PoclTest, SpansAreWhatTheApplicationsOwnEventsSay) {
  const cl_command_queue queue = MakeQueue(CL_QUEUE_PROFILING_ENABLE);
  const cl_kernel kernel = MakeKernel("spin");
  cl_event event = nullptr;
  Run(queue, kernel, &event);
  clWaitForEvents(1, &event);
  cl_ulong begin = 0, end = 0;
  ASSERT_EQ(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, 8, &begin, nullptr),
            CL_SUCCESS);
  ASSERT_EQ(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, 8, &end, nullptr), CL_SUCCESS);
  clReleaseEvent(event);
  const StubHost::Span span = SpanOnceThereIs("spin");
  EXPECT_EQ(span.begin_ns, static_cast<int64_t>(begin));
  EXPECT_EQ(span.end_ns, static_cast<int64_t>(end));
  clReleaseKernel(kernel);
  clReleaseCommandQueue(queue);
}

TEST_F(PoclTest, QueueAndContextCanGoWhileWorkIsUnderWay) {
  static std::atomic<bool> gone;
  gone = false;
  const cl_context short_lived = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  clSetContextDestructorCallback(
      short_lived, [](cl_context, void*) { gone = true; }, nullptr);
  const cl_command_queue queue =
      clCreateCommandQueueWithProperties(short_lived, device, nullptr, nullptr);
  const cl_mem memory = clCreateBuffer(short_lived, CL_MEM_READ_WRITE, 4096, nullptr, nullptr);
  const int pattern = 7;
  const cl_event gate = clCreateUserEvent(short_lived, nullptr);
  ASSERT_EQ(clEnqueueFillBuffer(queue, memory, &pattern, 4, 0, 4096, 1, &gate, nullptr),
            CL_SUCCESS);
  clFlush(queue);
  clReleaseMemObject(memory);
  clReleaseCommandQueue(queue);
  clReleaseContext(short_lived);
  clSetUserEventStatus(gate, CL_COMPLETE);
  clReleaseEvent(gate);
  EXPECT_EQ(SpanOnceThereIs("Memset").args["bytes"], 4096);
  for (int i = 0; i < 2000 && !gone; ++i) usleep(1000);
  EXPECT_TRUE(gone);
}

TEST_F(PoclTest, TenThousandSessionsLeaveNothingBehind) {
  const cl_command_queue queue = MakeQueue();
  const cl_kernel kernel = MakeKernel();
  auto resident_kib = [] {
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
      ASSERT_EQ(Run(queue, kernel), CL_SUCCESS);
      clFinish(queue);
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
  cycles(10'000);
  RecordProperty("grown_kib", static_cast<int>(resident_kib() - before_kib));
  EXPECT_LE(resident_kib() - before_kib, kRoomKib);
  EXPECT_EQ(descriptors(), before_descriptors);
  host->KeepNothing(false);
  clReleaseKernel(kernel);
  clReleaseCommandQueue(queue);
}

}  // namespace
}  // namespace crosscut::opencl
