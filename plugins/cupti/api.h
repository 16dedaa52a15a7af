// CUPTI as a table of function pointers: filled from a libcupti at run time (library.h), or by a
// fake that simulates it in tests. Nothing here links to CUDA.
#pragma once

#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <cupti_version.h>

#include <cstddef>
#include <cstdint>

namespace crosscut::cupti {

// Without one of these the plugin does not record.
#define CROSSCUT_CUPTI_NEEDED(X) \
  X(GetVersion)                  \
  X(GetTimestamp)                \
  X(Subscribe)                   \
  X(Unsubscribe)                 \
  X(EnableCallback)              \
  X(EnableDomain)                \
  X(ActivityRegisterCallbacks)   \
  X(ActivityEnable)              \
  X(ActivityDisable)             \
  X(ActivityFlushAll)            \
  X(ActivityGetNextRecord)       \
  X(ActivityGetNumDroppedRecords)

// May be null: newer than the oldest CUPTI that is supported, or than the newest.
#define CROSSCUT_CUPTI_OPTIONAL(X) \
  X(Subscribe_v2)                  \
  X(ActivityRegisterTimestampCallback)

// Without one of these there are no hardware metrics; CUDA 12.6 has the first of them.
#define CROSSCUT_CUPTI_METRICS(X)            \
  X(GetDeviceId)                             \
  X(DeviceGetChipName)                       \
  X(ProfilerInitialize)                      \
  X(ProfilerDeInitialize)                    \
  X(ProfilerHostInitialize)                  \
  X(ProfilerHostDeinitialize)                \
  X(ProfilerHostGetMetricProperties)         \
  X(ProfilerHostConfigAddMetrics)            \
  X(ProfilerHostGetConfigImageSize)          \
  X(ProfilerHostGetConfigImage)              \
  X(ProfilerHostGetNumOfPasses)              \
  X(ProfilerHostEvaluateToGpuValues)         \
  X(RangeProfilerEnable)                     \
  X(RangeProfilerDisable)                    \
  X(RangeProfilerGetCounterDataSize)         \
  X(RangeProfilerCounterDataImageInitialize) \
  X(RangeProfilerSetConfig)                  \
  X(RangeProfilerStart)                      \
  X(RangeProfilerPushRange)                  \
  X(RangeProfilerPopRange)                   \
  X(RangeProfilerStop)                       \
  X(RangeProfilerDecodeData)                 \
  X(RangeProfilerGetCounterDataInfo)

struct Api {
#define CROSSCUT_CUPTI_MEMBER(name) decltype(&cupti##name) name = nullptr;
  CROSSCUT_CUPTI_NEEDED(CROSSCUT_CUPTI_MEMBER)
  CROSSCUT_CUPTI_OPTIONAL(CROSSCUT_CUPTI_MEMBER)
  CROSSCUT_CUPTI_METRICS(CROSSCUT_CUPTI_MEMBER)
#undef CROSSCUT_CUPTI_MEMBER
  // Optional, and newer than the oldest headers this builds with.
  CUptiResult (*ActivityGetStructSize)(CUpti_ActivityKind, uint32_t version, size_t*) = nullptr;
};

// CUDA 11.6: the first whose records all have the layout that is read here.
inline constexpr uint32_t kOldestVersion = 17;

}  // namespace crosscut::cupti
