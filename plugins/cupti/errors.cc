#include "errors.h"

#include <cstdio>

namespace crosscut::cupti {
namespace {

constexpr const char* kConflict = "conflict";
constexpr const char* kMissing = "missing";
constexpr const char* kFailed = "failed";

struct Row {
  int code;
  Meaning meaning;
};

#define ROW(name, state, words)                    \
  {                                                \
    CUPTI_##name, { "CUPTI_" #name, state, words } \
  }
// Codes that the oldest headers this builds with do not name.
#define NEW_ROW(code, name, state, words)  \
  {                                        \
    code, { "CUPTI_" #name, state, words } \
  }

constexpr Row kRows[] = {
    ROW(SUCCESS, kFailed, "no error"),
    ROW(ERROR_INVALID_PARAMETER, kFailed, "a parameter was refused"),
    ROW(ERROR_INVALID_DEVICE, kMissing, "no such CUDA device"),
    ROW(ERROR_INVALID_CONTEXT, kFailed, "a CUDA context was not valid"),
    ROW(ERROR_INVALID_EVENT_DOMAIN_ID, kFailed, "an event domain was not valid"),
    ROW(ERROR_INVALID_EVENT_ID, kFailed, "an event was not valid"),
    ROW(ERROR_INVALID_EVENT_NAME, kFailed, "an event's name was not valid"),
    ROW(ERROR_INVALID_OPERATION, kFailed, "not possible in the present state of CUPTI"),
    ROW(ERROR_OUT_OF_MEMORY, kFailed, "CUPTI is out of memory"),
    ROW(ERROR_HARDWARE, kFailed, "the device's performance monitor reports an error"),
    ROW(ERROR_PARAMETER_SIZE_NOT_SUFFICIENT, kFailed, "a buffer was too small"),
    ROW(ERROR_API_NOT_IMPLEMENTED, kFailed, "this CUPTI does not implement it"),
    ROW(ERROR_MAX_LIMIT_REACHED, kFailed, "a limit of CUPTI is reached"),
    ROW(ERROR_NOT_READY, kFailed, "CUPTI is not ready"),
    ROW(ERROR_NOT_COMPATIBLE, kConflict,
        "excluded by what another profiler has switched on; end it and record again"),
    ROW(ERROR_NOT_INITIALIZED, kMissing, "no NVIDIA driver or device answers"),
    ROW(ERROR_INVALID_METRIC_ID, kFailed, "a metric was not valid"),
    ROW(ERROR_INVALID_METRIC_NAME, kFailed, "a metric's name was not valid"),
    ROW(ERROR_QUEUE_EMPTY, kFailed, "a queue was empty"),
    ROW(ERROR_INVALID_HANDLE, kFailed, "a handle was not valid"),
    ROW(ERROR_INVALID_STREAM, kFailed, "a CUDA stream was not valid"),
    ROW(ERROR_INVALID_KIND, kFailed, "this CUPTI does not know this kind of record"),
    ROW(ERROR_INVALID_EVENT_VALUE, kFailed, "an event's value was not valid"),
    ROW(ERROR_DISABLED, kConflict, "another profiler keeps CUPTI switched off"),
    ROW(ERROR_INVALID_MODULE, kFailed, "a CUDA module was not valid"),
    ROW(ERROR_INVALID_METRIC_VALUE, kFailed, "a metric's value was not valid"),
    ROW(ERROR_HARDWARE_BUSY, kConflict,
        "another program (DCGM, Nsight) holds the device's performance counters"),
    ROW(ERROR_NOT_SUPPORTED, kFailed, "not supported on this system or device"),
    ROW(ERROR_UM_PROFILING_NOT_SUPPORTED, kFailed,
        "unified memory cannot be profiled on this system"),
    ROW(ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE, kFailed,
        "unified memory cannot be profiled on this device"),
    ROW(ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES, kFailed,
        "unified memory cannot be profiled on devices without peer access"),
    ROW(ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS, kFailed,
        "unified memory cannot be profiled under MPS"),
    ROW(ERROR_CDP_TRACING_NOT_SUPPORTED, kFailed,
        "kernels that kernels launch cannot be traced on this device"),
    ROW(ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, kFailed, "the virtual device cannot be profiled"),
    ROW(ERROR_CUDA_COMPILER_NOT_COMPATIBLE, kFailed,
        "the program was compiled by an nvcc too old to be profiled on this device"),
    ROW(ERROR_INSUFFICIENT_PRIVILEGES, kConflict,
        "the driver lets only the administrator profile; load it with "
        "NVreg_RestrictProfilingToAdminUsers=0 or record as root"),
    ROW(ERROR_OLD_PROFILER_API_INITIALIZED, kConflict,
        "another profiler uses CUPTI's older profiling API"),
    ROW(ERROR_OPENACC_UNDEFINED_ROUTINE, kFailed, "the OpenACC library lacks a routine"),
    ROW(ERROR_LEGACY_PROFILER_NOT_SUPPORTED, kFailed,
        "CUPTI's older profiling API does not support this device"),
    ROW(ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, kConflict,
        "another profiler (torch.profiler, Nsight, cuda-gdb) has CUPTI, which takes one at a time; "
        "end it and record again"),
    ROW(ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, kConflict,
        "the hypervisor does not allow profiling"),
    ROW(ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, kFailed,
        "profiling is not allowed in confidential-computing mode"),
    ROW(ERROR_CMP_DEVICE_NOT_SUPPORTED, kFailed, "crypto-mining devices cannot be profiled"),
    NEW_ROW(43, ERROR_MIG_DEVICE_NOT_SUPPORTED, kFailed,
            "a part of a device (MIG) cannot be profiled"),
    NEW_ROW(44, ERROR_SLI_DEVICE_NOT_SUPPORTED, kFailed, "an SLI device cannot be profiled"),
    NEW_ROW(45, ERROR_WSL_DEVICE_NOT_SUPPORTED, kFailed, "a WSL device cannot be profiled"),
    NEW_ROW(46, ERROR_INVALID_CHIP_NAME, kFailed, "this CUPTI does not know the device"),
    NEW_ROW(47, ERROR_HES_TRACE_NOT_SUPPORTED_ON_MPS, kFailed,
            "hardware event tracing does not work under MPS"),
    ROW(ERROR_UNKNOWN, kMissing, "no NVIDIA driver or device answers"),
};
#undef ROW
#undef NEW_ROW

constexpr Meaning kUnnamed = {"a code newer than this plugin", kFailed, "CUPTI reports an error"};

}  // namespace

const Meaning& MeaningOf(CUptiResult code) {
  for (const Row& row : kRows) {
    if (row.code == static_cast<int>(code)) return row.meaning;
  }
  return kUnnamed;
}

void Describe(const char* function, CUptiResult code, char* text, size_t bytes) {
  const Meaning& meaning = MeaningOf(code);
  std::snprintf(text, bytes, "%s: %s (%s, %d)", function, meaning.words, meaning.name,
                static_cast<int>(code));
}

}  // namespace crosscut::cupti
