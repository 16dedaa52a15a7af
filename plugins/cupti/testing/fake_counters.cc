#include "fake_counters.h"

#include <algorithm>
#include <cstring>

#include "fake_cupti.h"

namespace crosscut::cupti {
namespace {

constexpr uint32_t kInitialized = 0x1a9e, kDecoded = 0xdec0;

// What an image of counter data begins with; then the indices of its ranges.
struct Image {
  uint32_t state, capacity, count;
};

uint32_t* IndicesOf(uint8_t* image) { return reinterpret_cast<uint32_t*>(image + sizeof(Image)); }

}  // namespace

#define ASKED(name)                                                                 \
  if (const CUptiResult refused = FakeCupti::Asked(name); refused != CUPTI_SUCCESS) \
    return refused;                                                                 \
  const std::lock_guard<std::recursive_mutex> lock(Of().mutex_)
#define WANT(condition, otherwise) \
  if (!(condition)) return CUPTI_ERROR_##otherwise

FakeCounters& FakeCounters::Of() { return FakeCupti::current_->counters; }

FakeCounters::Profiler* FakeCounters::Find(const void* object) const {
  const auto at = profilers_.find(object);
  return at == profilers_.end() ? nullptr : at->second.get();
}

FakeCounters::Host* FakeCounters::FindHost(const void* object) const {
  const auto at = hosts_.find(object);
  return at == hosts_.end() ? nullptr : at->second.get();
}

size_t FakeCounters::Run(CUcontext context, uint32_t launch) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  for (const auto& [object, one] : profilers_) {
    if (one->context != context || !one->is_started) continue;
    if (one->range == CUPTI_AutoRange) {
      one->ranges.push_back({launch});
      return one->passes;
    }
    if (one->in_range) one->ranges.back().push_back(launch);
  }
  return 1;
}

void FakeCounters::FillTable(Api* api) {
  FillHost(api);
  FillImages(api);
  FillRanges(api);
  FillEdges(api);
  FillResults(api);
}

void FakeCounters::FillHost(Api* api) {
  api->GetDeviceId = [](CUcontext context, uint32_t* device) {
    ASKED("GetDeviceId");
    WANT(context != nullptr, INVALID_CONTEXT);
    *device = 0;
    return CUPTI_SUCCESS;
  };
  api->DeviceGetChipName = [](CUpti_Device_GetChipName_Params* params) {
    ASKED("DeviceGetChipName");
    params->pChipName = "GH100";
    return CUPTI_SUCCESS;
  };
  api->ProfilerInitialize = [](CUpti_Profiler_Initialize_Params*) {
    ASKED("ProfilerInitialize");
    Of().initialized_ = true;
    return CUPTI_SUCCESS;
  };
  api->ProfilerDeInitialize = [](CUpti_Profiler_DeInitialize_Params*) {
    ASKED("ProfilerDeInitialize");
    WANT(Of().initialized_ && Of().open() == 0, INVALID_OPERATION);
    Of().initialized_ = false;
    return CUPTI_SUCCESS;
  };
  api->ProfilerHostInitialize = [](CUpti_Profiler_Host_Initialize_Params* params) {
    ASKED("ProfilerHostInitialize");
    WANT(params->pChipName != nullptr && std::strcmp(params->pChipName, "GH100") == 0,
         INVALID_CHIP_NAME);
    WANT(params->profilerType == CUPTI_PROFILER_TYPE_RANGE_PROFILER, INVALID_PARAMETER);
    auto host = std::make_unique<Host>();
    params->pHostObject = reinterpret_cast<CUpti_Profiler_Host_Object*>(host.get());
    Of().hosts_[host.get()] = std::move(host);
    return CUPTI_SUCCESS;
  };
  api->ProfilerHostDeinitialize = [](CUpti_Profiler_Host_Deinitialize_Params* params) {
    ASKED("ProfilerHostDeinitialize");
    WANT(Of().hosts_.erase(params->pHostObject) == 1, INVALID_PARAMETER);
    return CUPTI_SUCCESS;
  };
  api->ProfilerHostGetMetricProperties =
      [](CUpti_Profiler_Host_GetMetricProperties_Params* params) {
        ASKED("ProfilerHostGetMetricProperties");
        WANT(Of().FindHost(params->pHostObject) != nullptr, INVALID_PARAMETER);
        const auto metric = Of().metrics.find(params->pMetricName);
        WANT(metric != Of().metrics.end(), INVALID_METRIC_NAME);
        params->pDimUnit = metric->second.c_str();
        return CUPTI_SUCCESS;
      };
  api->ProfilerHostConfigAddMetrics = [](CUpti_Profiler_Host_ConfigAddMetrics_Params* params) {
    ASKED("ProfilerHostConfigAddMetrics");
    Host* host = Of().FindHost(params->pHostObject);
    WANT(host != nullptr, INVALID_PARAMETER);
    for (size_t i = 0; i < params->numMetrics; ++i) {
      WANT(Of().metrics.count(params->ppMetricNames[i]) == 1, INVALID_METRIC_NAME);
      host->metrics.emplace_back(params->ppMetricNames[i]);
    }
    return CUPTI_SUCCESS;
  };
}

void FakeCounters::FillImages(Api* api) {
  api->ProfilerHostGetConfigImageSize = [](CUpti_Profiler_Host_GetConfigImageSize_Params* params) {
    ASKED("ProfilerHostGetConfigImageSize");
    WANT(Of().FindHost(params->pHostObject) != nullptr, INVALID_PARAMETER);
    params->configImageSize = sizeof(size_t);
    return CUPTI_SUCCESS;
  };
  api->ProfilerHostGetConfigImage = [](CUpti_Profiler_Host_GetConfigImage_Params* params) {
    ASKED("ProfilerHostGetConfigImage");
    const Host* host = Of().FindHost(params->pHostObject);
    WANT(host != nullptr && params->configImageSize == sizeof(size_t), INVALID_PARAMETER);
    const size_t passes = (host->metrics.size() + Of().metrics_a_pass - 1) / Of().metrics_a_pass;
    std::memcpy(params->pConfigImage, &passes, sizeof passes);
    return CUPTI_SUCCESS;
  };
  api->ProfilerHostGetNumOfPasses = [](CUpti_Profiler_Host_GetNumOfPasses_Params* params) {
    ASKED("ProfilerHostGetNumOfPasses");
    std::memcpy(&params->numOfPasses, params->pConfigImage, sizeof params->numOfPasses);
    return CUPTI_SUCCESS;
  };
  api->RangeProfilerGetCounterDataSize = [](CUpti_RangeProfiler_GetCounterDataSize_Params* params) {
    ASKED("RangeProfilerGetCounterDataSize");
    WANT(Of().Find(params->pRangeProfilerObject) != nullptr, INVALID_OPERATION);
    WANT(params->maxNumRangeTreeNodes >= params->maxNumOfRanges, INVALID_PARAMETER);
    params->counterDataSize = sizeof(Image) + params->maxNumOfRanges * sizeof(uint32_t);
    return CUPTI_SUCCESS;
  };
  api->RangeProfilerCounterDataImageInitialize =
      [](CUpti_RangeProfiler_CounterDataImage_Initialize_Params* params) {
        ASKED("RangeProfilerCounterDataImageInitialize");
        WANT(Of().Find(params->pRangeProfilerObject) != nullptr, INVALID_OPERATION);
        const Image image = {
            kInitialized,
            static_cast<uint32_t>((params->counterDataSize - sizeof(Image)) / sizeof(uint32_t)), 0};
        std::memcpy(params->pCounterData, &image, sizeof image);
        return CUPTI_SUCCESS;
      };
}

void FakeCounters::FillRanges(Api* api) {
  api->RangeProfilerEnable = [](CUpti_RangeProfiler_Enable_Params* params) {
    ASKED("RangeProfilerEnable");
    WANT(Of().initialized_ && params->ctx != nullptr, INVALID_PARAMETER);
    for (const auto& [object, one] : Of().profilers_) WANT(one->context != params->ctx, UNKNOWN);
    auto made = std::make_unique<Profiler>();
    made->context = params->ctx;
    params->pRangeProfilerObject = reinterpret_cast<CUpti_RangeProfiler_Object*>(made.get());
    Of().profilers_[made.get()] = std::move(made);
    return CUPTI_SUCCESS;
  };
  api->RangeProfilerDisable = [](CUpti_RangeProfiler_Disable_Params* params) {
    ASKED("RangeProfilerDisable");
    WANT(Of().profilers_.erase(params->pRangeProfilerObject) == 1, INVALID_PARAMETER);
    return CUPTI_SUCCESS;
  };
  api->RangeProfilerSetConfig = [](CUpti_RangeProfiler_SetConfig_Params* params) {
    ASKED("RangeProfilerSetConfig");
    Profiler* one = Of().Find(params->pRangeProfilerObject);
    WANT(one != nullptr && !one->is_started, INVALID_OPERATION);
    const bool by_kernel = params->range == CUPTI_AutoRange;
    WANT(by_kernel == (params->replayMode == CUPTI_KernelReplay), INVALID_PARAMETER);
    WANT(params->numNestingLevels == 1 && params->minNestingLevel == 1, INVALID_PARAMETER);
    WANT(reinterpret_cast<const Image*>(params->pCounterDataImage)->state == kInitialized,
         INVALID_PARAMETER);
    std::memcpy(&one->passes, params->pConfig, sizeof one->passes);
    one->range = params->range;
    one->most = params->maxRangesPerPass;
    one->image = params->pCounterDataImage;
    one->is_configured = true;
    return CUPTI_SUCCESS;
  };
}

void FakeCounters::FillEdges(Api* api) {
  api->RangeProfilerStart = [](CUpti_RangeProfiler_Start_Params* params) {
    ASKED("RangeProfilerStart");
    Profiler* one = Of().Find(params->pRangeProfilerObject);
    WANT(one != nullptr && one->is_configured && !one->is_started, INVALID_OPERATION);
    one->is_started = true;
    one->ranges.clear();
    return CUPTI_SUCCESS;
  };
  api->RangeProfilerPushRange = [](CUpti_RangeProfiler_PushRange_Params* params) {
    ASKED("RangeProfilerPushRange");
    Profiler* one = Of().Find(params->pRangeProfilerObject);
    WANT(one != nullptr && one->is_started && !one->in_range, INVALID_OPERATION);
    WANT(one->range == CUPTI_UserRange && params->pRangeName != nullptr, INVALID_PARAMETER);
    one->ranges.emplace_back();
    one->in_range = true;
    return CUPTI_SUCCESS;
  };
  api->RangeProfilerPopRange = [](CUpti_RangeProfiler_PopRange_Params* params) {
    ASKED("RangeProfilerPopRange");
    Profiler* one = Of().Find(params->pRangeProfilerObject);
    WANT(one != nullptr && one->in_range, INVALID_OPERATION);
    one->in_range = false;
    return CUPTI_SUCCESS;
  };
  api->RangeProfilerStop = [](CUpti_RangeProfiler_Stop_Params* params) {
    ASKED("RangeProfilerStop");
    Profiler* one = Of().Find(params->pRangeProfilerObject);
    WANT(one != nullptr && one->is_started && !one->in_range, INVALID_OPERATION);
    one->is_started = false;
    params->isAllPassSubmitted = one->range == CUPTI_AutoRange || one->passes == 1 ? 1 : 0;
    return CUPTI_SUCCESS;
  };
}

void FakeCounters::FillResults(Api* api) {
  api->RangeProfilerDecodeData = [](CUpti_RangeProfiler_DecodeData_Params* params) {
    ASKED("RangeProfilerDecodeData");
    Profiler* one = Of().Find(params->pRangeProfilerObject);
    WANT(one != nullptr && one->is_configured && !one->is_started, INVALID_OPERATION);
    auto* image = reinterpret_cast<Image*>(one->image);
    WANT(image->state == kInitialized, INVALID_OPERATION);
    const size_t most = std::min<size_t>(image->capacity, one->most);
    const size_t kept = std::min(one->ranges.size(), most);
    for (size_t i = 0; i < kept; ++i) {
      IndicesOf(one->image)[i] = static_cast<uint32_t>(Of().decoded_.size());
      Of().decoded_.push_back(one->ranges[i]);
    }
    image->count = static_cast<uint32_t>(kept);
    image->state = kDecoded;
    params->numOfRangeDropped = one->ranges.size() - kept;
    return CUPTI_SUCCESS;
  };
  api->RangeProfilerGetCounterDataInfo = [](CUpti_RangeProfiler_GetCounterDataInfo_Params* params) {
    ASKED("RangeProfilerGetCounterDataInfo");
    const auto* image = reinterpret_cast<const Image*>(params->pCounterDataImage);
    WANT(image->state == kDecoded, INVALID_PARAMETER);
    params->numTotalRanges = image->count;
    return CUPTI_SUCCESS;
  };
  api->ProfilerHostEvaluateToGpuValues =
      [](CUpti_Profiler_Host_EvaluateToGpuValues_Params* params) {
        ASKED("ProfilerHostEvaluateToGpuValues");
        auto* bytes = const_cast<uint8_t*>(params->pCounterDataImage);
        const auto* image = reinterpret_cast<const Image*>(bytes);
        WANT(Of().FindHost(params->pHostObject) != nullptr && image->state == kDecoded &&
                 params->rangeIndex < image->count,
             INVALID_PARAMETER);
        const std::vector<uint32_t>& range = Of().decoded_[IndicesOf(bytes)[params->rangeIndex]];
        for (size_t i = 0; i < params->numMetrics; ++i) {
          params->pMetricValues[i] = 0;
          for (const uint32_t launch : range) {
            params->pMetricValues[i] += Of().value(params->ppMetricNames[i], launch);
          }
        }
        return CUPTI_SUCCESS;
      };
}
#undef WANT
#undef ASKED

}  // namespace crosscut::cupti
