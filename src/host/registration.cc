#include "src/host/registration.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

namespace crosscut::host {
namespace {

bool Refuse(Refusal* refusal, const char* format, ...) __attribute__((format(printf, 2, 3)));
bool Refuse(Refusal* refusal, const char* format, ...) {
  refusal->code = TF_FAILED_PRECONDITION;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(refusal->message, sizeof refusal->message, format, arguments);
  va_end(arguments);
  return false;
}

bool CheckParams(const TF_ProfilerRegistrationParams& params, Refusal* refusal) {
  if (params.struct_size == 0) return Refuse(refusal, "params->struct_size was set to 0");
  if (params.destroy_profiler == nullptr) return Refuse(refusal, "destroy_profiler is not set");
  if (params.destroy_profiler_fns == nullptr) {
    return Refuse(refusal, "destroy_profiler_fns is not set");
  }
  return true;
}

bool CheckProfiler(const TP_Profiler& profiler, Refusal* refusal) {
  if (profiler.struct_size == 0) return Refuse(refusal, "profiler->struct_size is 0");
  if (profiler.struct_size < TP_PROFILER_STRUCT_SIZE || profiler.device_type == nullptr) {
    return Refuse(refusal, "profiler->device_type is not set");
  }
  if (!IsDeviceType(profiler.device_type)) {
    return Refuse(refusal, "device_type '%.60s' is not capital letters and underscores",
                  profiler.device_type);
  }
  return true;
}

bool CheckFns(const TP_ProfilerFns& fns, Refusal* refusal) {
  const auto has = [&fns](auto* function, size_t end) {
    return fns.struct_size >= end && function != nullptr;
  };
  if (fns.struct_size == 0) return Refuse(refusal, "profiler_fns->struct_size is 0");
  if (!has(fns.start, TF_OFFSET_OF_END(TP_ProfilerFns, start))) {
    return Refuse(refusal, "profiler_fns->start is not set");
  }
  if (!has(fns.stop, TF_OFFSET_OF_END(TP_ProfilerFns, stop))) {
    return Refuse(refusal, "profiler_fns->stop is not set");
  }
  if (!has(fns.collect_data_xspace, TP_PROFILER_FNS_STRUCT_SIZE)) {
    return Refuse(refusal, "profiler_fns->collect_data_xspace is not set");
  }
  return true;
}

}  // namespace

bool IsDeviceType(const char* text) {
  if (*text < 'A' || *text > 'Z') return false;
  for (const char* at = text; *at != '\0'; ++at) {
    if ((*at < 'A' || *at > 'Z') && *at != '_') return false;
  }
  return strlen(text) < sizeof Registration::device_type;
}

bool Register(const Library& library, const crosscut_extension* extension, const Status& status,
              Registration* out, Refusal* refusal) {
  out->profiler.struct_size = TP_PROFILER_STRUCT_SIZE;
  out->fns.struct_size = TP_PROFILER_FNS_STRUCT_SIZE;
  TF_ProfilerRegistrationParams params = {};
  params.struct_size = TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE;
  params.ext = const_cast<crosscut_extension*>(extension);
  params.major_version = TP_MAJOR;
  params.minor_version = TP_MINOR;
  params.patch_version = TP_PATCH;
  params.profiler = &out->profiler;
  params.profiler_fns = &out->fns;

  library.init(&params, status.get());
  if (status.code() != TF_OK) {
    refusal->code = status.code();
    snprintf(refusal->message, sizeof refusal->message, "%s", status.message());
    return false;
  }
  if (!CheckParams(params, refusal) || !CheckProfiler(out->profiler, refusal) ||
      !CheckFns(out->fns, refusal)) {
    return false;
  }
  if (params.major_version > TP_MAJOR) {
    return Refuse(refusal, "it wants version %d of the ABI; this host has %d",
                  static_cast<int>(params.major_version), TP_MAJOR);
  }
  out->status_library = library.handle;
  out->destroy_profiler = params.destroy_profiler;
  out->destroy_profiler_fns = params.destroy_profiler_fns;
  snprintf(out->device_type, sizeof out->device_type, "%s", out->profiler.device_type);
  out->profiler.device_type = out->device_type;
  return true;
}

}  // namespace crosscut::host
