// The simulated CUPTI as a library, with a device and a few calls of CUDA's API, for programs under
// `crosscut record`. tests/endtoend/test_cupti.py drives it.

#include <cupti_runtime_cbid.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>

#include "fake_cupti.h"

namespace {

using crosscut::cupti::Api;
using crosscut::cupti::FakeCupti;

constexpr int64_t kLaunchLatencyNs = 5'000;

FakeCupti& Cupti() {
  static auto* const cupti = new FakeCupti;
  return *cupti;
}
const Api& Table() {
  static const Api table = Cupti().table();
  return table;
}

int64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Of CUPTI's clock to that. Clocks less than a second apart are the same one.
uint64_t Offset() {
  constexpr int64_t kSecond = 1'000'000'000;
  static std::atomic<int64_t> offset{0};
  const int64_t now = Cupti().Now() - MonotonicNs();
  if (std::llabs(now) < kSecond) return 0;
  if (std::llabs(now - offset) > kSecond) offset = now;
  return static_cast<uint64_t>(offset.load());
}

// The device's one stream: work runs in order, and its record is there when it has ended, if CUPTI
// was recording when it was launched. On CLOCK_MONOTONIC, whatever CUPTI's clock is.
struct Device {
  std::mutex mutex;
  int64_t free_ns = 0;
  std::deque<CUpti_ActivityKernel7> running;

  std::map<uint32_t, int64_t> lengths;  // of kernels, by launch

  // Returns the end.
  int64_t Run(uint32_t launch, int64_t ns, uint64_t node, const char* name) {
    std::lock_guard<std::mutex> lock(mutex);
    const int64_t begin = std::max(free_ns, MonotonicNs() + kLaunchLatencyNs);
    free_ns = begin + ns;
    CUpti_ActivityKernel7 kernel = FakeCupti::Kernel(launch, begin, free_ns);
    kernel.name = name;
    kernel.graphNodeId = node;
    if (Cupti().kinds.count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != 0) running.push_back(kernel);
    return free_ns;
  }
  void Report(bool all) {
    std::lock_guard<std::mutex> lock(mutex);
    while (!running.empty() &&
           (all || running.front().end < static_cast<uint64_t>(MonotonicNs()))) {
      CUpti_ActivityKernel7 kernel = running.front();
      kernel.start += Offset();
      kernel.end += Offset();
      Cupti().Put(kernel);
      running.pop_front();
    }
  }
};
Device device;

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT CUptiResult cuptiGetVersion(uint32_t* version) { return Table().GetVersion(version); }
EXPORT CUptiResult cuptiGetTimestamp(uint64_t* at) { return Table().GetTimestamp(at); }
EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback,
                                  void* data) {
  return Table().Subscribe(handle, callback, data);
}
EXPORT CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback,
                                     void* data, CUpti_SubscriberParams* params) {
  return Table().Subscribe_v2(handle, callback, data, params);
}
EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle) {
  return Table().Unsubscribe(handle);
}
EXPORT CUptiResult cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle handle,
                                       CUpti_CallbackDomain domain, CUpti_CallbackId call) {
  return Table().EnableCallback(on, handle, domain, call);
}
EXPORT CUptiResult cuptiEnableDomain(uint32_t on, CUpti_SubscriberHandle handle,
                                     CUpti_CallbackDomain domain) {
  return Table().EnableDomain(on, handle, domain);
}
EXPORT CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                  CUpti_BuffersCallbackCompleteFunc complete) {
  return Table().ActivityRegisterCallbacks(request, complete);
}
EXPORT CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  return Table().ActivityRegisterTimestampCallback(clock);
}
EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  return Table().ActivityEnable(kind);
}
EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  return Table().ActivityDisable(kind);
}
EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  device.Report(false);
  return Table().ActivityFlushAll(flag);
}
EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid,
                                              CUpti_Activity** record) {
  return Table().ActivityGetNextRecord(buffer, valid, record);
}
EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream,
                                                     size_t* dropped) {
  return Table().ActivityGetNumDroppedRecords(context, stream, dropped);
}

#define FORWARD(function, params) \
  EXPORT CUptiResult cupti##function(params##_Params* p) { return Table().function(p); }
FORWARD(DeviceGetChipName, CUpti_Device_GetChipName)
FORWARD(ProfilerInitialize, CUpti_Profiler_Initialize)
FORWARD(ProfilerDeInitialize, CUpti_Profiler_DeInitialize)
FORWARD(ProfilerHostInitialize, CUpti_Profiler_Host_Initialize)
FORWARD(ProfilerHostDeinitialize, CUpti_Profiler_Host_Deinitialize)
FORWARD(ProfilerHostGetMetricProperties, CUpti_Profiler_Host_GetMetricProperties)
FORWARD(ProfilerHostConfigAddMetrics, CUpti_Profiler_Host_ConfigAddMetrics)
FORWARD(ProfilerHostGetConfigImageSize, CUpti_Profiler_Host_GetConfigImageSize)
FORWARD(ProfilerHostGetConfigImage, CUpti_Profiler_Host_GetConfigImage)
FORWARD(ProfilerHostGetNumOfPasses, CUpti_Profiler_Host_GetNumOfPasses)
FORWARD(ProfilerHostEvaluateToGpuValues, CUpti_Profiler_Host_EvaluateToGpuValues)
FORWARD(RangeProfilerEnable, CUpti_RangeProfiler_Enable)
FORWARD(RangeProfilerDisable, CUpti_RangeProfiler_Disable)
FORWARD(RangeProfilerGetCounterDataSize, CUpti_RangeProfiler_GetCounterDataSize)
FORWARD(RangeProfilerCounterDataImageInitialize, CUpti_RangeProfiler_CounterDataImage_Initialize)
FORWARD(RangeProfilerSetConfig, CUpti_RangeProfiler_SetConfig)
FORWARD(RangeProfilerStart, CUpti_RangeProfiler_Start)
FORWARD(RangeProfilerPushRange, CUpti_RangeProfiler_PushRange)
FORWARD(RangeProfilerPopRange, CUpti_RangeProfiler_PopRange)
FORWARD(RangeProfilerStop, CUpti_RangeProfiler_Stop)
FORWARD(RangeProfilerDecodeData, CUpti_RangeProfiler_DecodeData)
FORWARD(RangeProfilerGetCounterDataInfo, CUpti_RangeProfiler_GetCounterDataInfo)
#undef FORWARD
EXPORT CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* device) {
  return Table().GetDeviceId(context, device);
}

// ---- For the program ---------------------------------------------------------------------------

namespace {

// What CUPTI adds to a call while it records what devices do.
std::atomic<int64_t> inflated_launch_ns{0}, inflated_copy_ns{0};

void Inflate(int64_t ns) {
  if (Cupti().kinds.count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 0) return;
  for (const int64_t end = MonotonicNs() + ns; MonotonicNs() < end;) {
  }
}

}  // namespace

EXPORT void fake_inflate(int64_t launch_ns, int64_t copy_ns) {
  inflated_launch_ns = launch_ns;
  inflated_copy_ns = copy_ns;
}

// cudaMemcpyAsync, of which the device has nothing to do.
EXPORT void fake_copy() {
  Cupti().Call(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
               "cudaMemcpyAsync", [](uint32_t) { Inflate(inflated_copy_ns); });
}

// cudaLaunchKernel of a kernel that takes `ns`.
EXPORT void fake_launch(const char* name, int64_t ns) {
  Cupti().Call(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
               "cudaLaunchKernel", [&](uint32_t id) {
                 {
                   const std::lock_guard<std::mutex> lock(device.mutex);
                   device.lengths[id] = ns;
                 }
                 for (size_t left = Cupti().counters.Run(FakeCupti::Context(), id); left > 0;
                      --left) {
                   device.Run(id, ns, 0, name);
                 }
                 Inflate(inflated_launch_ns);
               });
}

// cudaGraphLaunch of `nodes` kernels.
EXPORT void fake_launch_graph(const char* name, int nodes, int64_t ns) {
  Cupti().Call(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000,
               "cudaGraphLaunch", [&](uint32_t id) {
                 for (int i = 0; i < nodes; ++i) {
                   device.Run(id, ns, static_cast<uint64_t>(i) + 1, name);
                 }
               });
}

// cudaDeviceSynchronize.
EXPORT void fake_synchronize() {
  Cupti().Call(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020,
               "cudaDeviceSynchronize", [&](uint32_t) {
                 int64_t until = 0;
                 {
                   std::lock_guard<std::mutex> lock(device.mutex);
                   until = device.free_ns;
                 }
                 const int64_t wait = until - MonotonicNs();
                 if (wait <= 0) return;
                 const timespec pause = {wait / 1'000'000'000, wait % 1'000'000'000};
                 nanosleep(&pause, nullptr);
               });
}

// The counters say that a kernel takes `cycles_per_us`, and of anything else 0.125.
EXPORT void fake_counters(double cycles_per_us, size_t metrics_a_pass) {
  Cupti().counters.metrics_a_pass = metrics_a_pass;
  Cupti().counters.value = [=](const std::string& metric, uint32_t launch) {
    const std::lock_guard<std::mutex> lock(device.mutex);
    const auto ns = static_cast<double>(device.lengths[launch]);
    return metric.find("cycles") == std::string::npos ? 0.125 : cycles_per_us * ns / 1000;
  };
}
// That function answers `code` from now on.
EXPORT void fake_refuse(const char* function, int code) {
  Cupti().refuse[function] = static_cast<CUptiResult>(code);
}

EXPORT void fake_drop(uint64_t records) { Cupti().drop = records; }
EXPORT void fake_owner(const char* name) { Cupti().owner = name; }
// Whether a subscriber hears of calls to the runtime: it subscribes some time before.
EXPORT int fake_is_heard() {
  return Cupti().CallsBack(CUPTI_CB_DOMAIN_RUNTIME_API,
                           CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
}
