#include "range_profiler.h"

#include <cstdio>
#include <cstring>
#include <new>

#include "errors.h"

namespace crosscut::cupti {
namespace {

// Structs grow at their end: one says how much of it is filled.
template <class Params>
Params Sized(size_t bytes) {
  Params params = {};
  params.structSize = bytes;
  return params;
}
#define SIZED(name) Sized<name##_Params>(name##_Params_STRUCT_SIZE)

// One more than a launch of a kernel has, so that a call with several is seen.
constexpr size_t kRanges = 2;

}  // namespace

bool RangeProfiler::Did(const char* function, CUptiResult result) {
  if (result == CUPTI_SUCCESS) return true;
  if (result == CUPTI_ERROR_NOT_INITIALIZED) {
    std::snprintf(
        why_, sizeof why_,
        "%s: libnvperf_host.so and libnvperf_target.so, which come with libcupti, are not "
        "found: put their folder into LD_LIBRARY_PATH (%s, %d)",
        function, MeaningOf(result).name, static_cast<int>(result));
  } else {
    Describe(function, result, why_, sizeof why_);
  }
  return false;
}

bool RangeProfiler::Open(const Api* api, CUcontext context, const Asked& asked) {
  api_ = api;
  per_kernel_ = asked.per_kernel;
  count_ = passes_ = 0;
  why_[0] = unknown_[0] = '\0';
  if (OpenHost(context) && FindMetrics(asked) && Configure() && Affordable(asked) &&
      MakeImage(context)) {
    return true;
  }
  Close();
  return false;
}

bool RangeProfiler::OpenHost(CUcontext context) {
  uint32_t device = 0;
  if (!Did("cuptiGetDeviceId", api_->GetDeviceId(context, &device))) return false;
  auto chip = SIZED(CUpti_Device_GetChipName);
  chip.deviceIndex = device;
  if (!Did("cuptiDeviceGetChipName", api_->DeviceGetChipName(&chip))) return false;
  auto made = SIZED(CUpti_Profiler_Host_Initialize);
  made.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  made.pChipName = chip.pChipName;
  if (!Did("cuptiProfilerHostInitialize", api_->ProfilerHostInitialize(&made))) return false;
  host_ = made.pHostObject;
  return true;
}

bool RangeProfiler::FindMetrics(const Asked& asked) {
  for (size_t i = 0; i < asked.count; ++i) {
    auto metric = SIZED(CUpti_Profiler_Host_GetMetricProperties);
    metric.pHostObject = host_;
    metric.pMetricName = asked.names[i];
    const CUptiResult result = api_->ProfilerHostGetMetricProperties(&metric);
    if (result == CUPTI_ERROR_INVALID_METRIC_NAME || result == CUPTI_ERROR_INVALID_PARAMETER) {
      const size_t used = std::strlen(unknown_);
      std::snprintf(unknown_ + used, sizeof unknown_ - used, "%s%s", used == 0 ? "" : ", ",
                    asked.names[i]);
      continue;
    }
    if (!Did("cuptiProfilerHostGetMetricProperties", result)) return false;
    std::snprintf(units_[count_], sizeof units_[0], "%s",
                  metric.pDimUnit == nullptr ? "" : metric.pDimUnit);
    names_[count_++] = asked.names[i];
  }
  if (count_ == 0) std::snprintf(why_, sizeof why_, "none of these metrics is known");
  return count_ != 0;
}

bool RangeProfiler::Configure() {
  auto added = SIZED(CUpti_Profiler_Host_ConfigAddMetrics);
  added.pHostObject = host_;
  added.ppMetricNames = names_;
  added.numMetrics = count_;
  if (!Did("cuptiProfilerHostConfigAddMetrics", api_->ProfilerHostConfigAddMetrics(&added))) {
    return false;
  }
  auto size = SIZED(CUpti_Profiler_Host_GetConfigImageSize);
  size.pHostObject = host_;
  if (!Did("cuptiProfilerHostGetConfigImageSize", api_->ProfilerHostGetConfigImageSize(&size))) {
    return false;
  }
  config_bytes_ = size.configImageSize;
  config_.reset(new (std::nothrow) uint8_t[config_bytes_]);
  if (config_ == nullptr) return Did("configuration", CUPTI_ERROR_OUT_OF_MEMORY);
  auto image = SIZED(CUpti_Profiler_Host_GetConfigImage);
  image.pHostObject = host_;
  image.configImageSize = config_bytes_;
  image.pConfigImage = config_.get();
  if (!Did("cuptiProfilerHostGetConfigImage", api_->ProfilerHostGetConfigImage(&image))) {
    return false;
  }
  auto passes = SIZED(CUpti_Profiler_Host_GetNumOfPasses);
  passes.configImageSize = config_bytes_;
  passes.pConfigImage = config_.get();
  if (!Did("cuptiProfilerHostGetNumOfPasses", api_->ProfilerHostGetNumOfPasses(&passes))) {
    return false;
  }
  passes_ = passes.numOfPasses;
  return true;
}

// The device counts only so much at once; a program runs once, unless its user says otherwise.
bool RangeProfiler::Affordable(const Asked& asked) {
  if (passes_ <= 1 || (asked.per_kernel && asked.replay)) return true;
  std::snprintf(why_, sizeof why_, "the device needs %zu passes for these metrics: ask for fewer%s",
                passes_,
                asked.per_kernel ? ", or have each kernel run as often (metrics_replay=on)"
                                 : ", or per kernel with replay (metrics_per=kernel, "
                                   "metrics_replay=on)");
  return false;
}

bool RangeProfiler::MakeImage(CUcontext context) {
  // CUPTI up to CUDA 13.3 knows no more of this struct.
  auto on = Sized<CUpti_RangeProfiler_Enable_Params>(
      CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject));
  on.ctx = context;
  if (!Did("cuptiRangeProfilerEnable", api_->RangeProfilerEnable(&on))) return false;
  object_ = on.pRangeProfilerObject;
  auto size = SIZED(CUpti_RangeProfiler_GetCounterDataSize);
  size.pRangeProfilerObject = object_;
  size.pMetricNames = names_;
  size.numMetrics = count_;
  size.maxNumOfRanges = kRanges;
  size.maxNumRangeTreeNodes = kRanges;
  if (!Did("cuptiRangeProfilerGetCounterDataSize", api_->RangeProfilerGetCounterDataSize(&size))) {
    return false;
  }
  image_bytes_ = size.counterDataSize;
  image_.reset(new (std::nothrow) uint8_t[image_bytes_]);
  return image_ != nullptr || Did("counter data", CUPTI_ERROR_OUT_OF_MEMORY);
}

bool RangeProfiler::Start() {
  auto image = SIZED(CUpti_RangeProfiler_CounterDataImage_Initialize);
  image.pRangeProfilerObject = object_;
  image.counterDataSize = image_bytes_;
  image.pCounterData = image_.get();
  if (!Did("cuptiRangeProfilerCounterDataImageInitialize",
           api_->RangeProfilerCounterDataImageInitialize(&image))) {
    return false;
  }
  auto config = SIZED(CUpti_RangeProfiler_SetConfig);
  config.pRangeProfilerObject = object_;
  config.configSize = config_bytes_;
  config.pConfig = config_.get();
  config.counterDataImageSize = image_bytes_;
  config.pCounterDataImage = image_.get();
  config.range = per_kernel_ ? CUPTI_AutoRange : CUPTI_UserRange;
  // With one pass, a kernel runs once in this mode, too.
  config.replayMode = per_kernel_ ? CUPTI_KernelReplay : CUPTI_UserReplay;
  config.maxRangesPerPass = kRanges;
  config.numNestingLevels = config.minNestingLevel = 1;
  if (!Did("cuptiRangeProfilerSetConfig", api_->RangeProfilerSetConfig(&config))) return false;
  auto start = SIZED(CUpti_RangeProfiler_Start);
  start.pRangeProfilerObject = object_;
  if (!Did("cuptiRangeProfilerStart", api_->RangeProfilerStart(&start))) return false;
  if (per_kernel_) return true;
  auto push = SIZED(CUpti_RangeProfiler_PushRange);
  push.pRangeProfilerObject = object_;
  push.pRangeName = "window";
  return Did("cuptiRangeProfilerPushRange", api_->RangeProfilerPushRange(&push));
}

bool RangeProfiler::Stop(size_t* ranges) {
  if (!per_kernel_) {
    auto pop = SIZED(CUpti_RangeProfiler_PopRange);
    pop.pRangeProfilerObject = object_;
    if (!Did("cuptiRangeProfilerPopRange", api_->RangeProfilerPopRange(&pop))) return false;
  }
  auto stop = SIZED(CUpti_RangeProfiler_Stop);
  stop.pRangeProfilerObject = object_;
  if (!Did("cuptiRangeProfilerStop", api_->RangeProfilerStop(&stop))) return false;
  auto decode = SIZED(CUpti_RangeProfiler_DecodeData);
  decode.pRangeProfilerObject = object_;
  if (!Did("cuptiRangeProfilerDecodeData", api_->RangeProfilerDecodeData(&decode))) return false;
  auto info = SIZED(CUpti_RangeProfiler_GetCounterDataInfo);
  info.pCounterDataImage = image_.get();
  info.counterDataImageSize = image_bytes_;
  if (!Did("cuptiRangeProfilerGetCounterDataInfo", api_->RangeProfilerGetCounterDataInfo(&info))) {
    return false;
  }
  *ranges = info.numTotalRanges + decode.numOfRangeDropped;
  return true;
}

const double* RangeProfiler::Values() {
  auto values = SIZED(CUpti_Profiler_Host_EvaluateToGpuValues);
  values.pHostObject = host_;
  values.pCounterDataImage = image_.get();
  values.counterDataImageSize = image_bytes_;
  values.ppMetricNames = names_;
  values.numMetrics = count_;
  values.pMetricValues = values_;
  return Did("cuptiProfilerHostEvaluateToGpuValues", api_->ProfilerHostEvaluateToGpuValues(&values))
             ? values_
             : nullptr;
}

void RangeProfiler::Close() {
  if (object_ != nullptr) {
    auto off = SIZED(CUpti_RangeProfiler_Disable);
    off.pRangeProfilerObject = object_;
    api_->RangeProfilerDisable(&off);
  }
  if (host_ != nullptr) {
    auto gone = SIZED(CUpti_Profiler_Host_Deinitialize);
    gone.pHostObject = host_;
    api_->ProfilerHostDeinitialize(&gone);
  }
  object_ = nullptr;
  host_ = nullptr;
}

}  // namespace crosscut::cupti
