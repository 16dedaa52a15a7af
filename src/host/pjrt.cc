#include "src/host/pjrt.h"

#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <new>

#include "src/host/status.h"

namespace crosscut::host {
namespace {

constexpr size_t kSmallestApi = 80;  // up to collect_data
constexpr int kMostExtensions = 64;

// One per plugin, reached through TP_Profiler::ext.
struct Driver {
  const crosscut_pjrt_profiler_api* api;
  char options[8];  // a ProfileOptions
  size_t options_size;
  crosscut_pjrt_profiler* profiler = nullptr;  // of the session
  const uint8_t* bytes = nullptr;              // the plugin's own, where it hands over a pointer
  size_t size = 0;
};

Driver* Of(const TP_Profiler* profiler) { return static_cast<Driver*>(profiler->ext); }

// Field 5 (version) = 1, 2 (host tracer level) = 2, 3 (device tracer level).
void Encode(int device_tracer_level, Driver* driver) {
  const auto level = static_cast<char>(std::clamp(device_tracer_level, 0, 127));
  const char bytes[] = {5 << 3, 1, 2 << 3, 2, 3 << 3, level};
  memcpy(driver->options, bytes, sizeof bytes);
  driver->options_size = sizeof bytes;
}

// Passes a plugin's error on as a status and destroys it. True where there was none.
bool Good(const Driver& driver, crosscut_pjrt_error* error, TF_Status* status) {
  if (error == nullptr) return true;
  crosscut_pjrt_code_args code = {sizeof code, nullptr, error, TF_UNKNOWN};
  if (driver.api->error_get_code(&code) != nullptr) code.code = TF_UNKNOWN;
  crosscut_pjrt_message_args message = {sizeof message, nullptr, error, nullptr, 0};
  driver.api->error_message(&message);
  char text[256];
  const size_t n = message.message == nullptr ? 0 : message.message_size;
  snprintf(text, sizeof text, "%.*s", static_cast<int>(n < sizeof text ? n : sizeof text),
           n == 0 ? "" : message.message);
  crosscut_pjrt_error_args args = {sizeof args, nullptr, error};
  driver.api->error_destroy(&args);
  Status::SetOwn(status, static_cast<TF_Code>(code.code), text);
  return false;
}

void Destroy(Driver* driver, TF_Status* status) {
  if (driver->profiler == nullptr) return;
  crosscut_pjrt_profiler_args args = {sizeof args, driver->profiler};
  driver->profiler = nullptr;
  driver->bytes = nullptr;
  (void)Good(*driver, driver->api->destroy(&args), status);
}

void Start(const TP_Profiler* profiler, TF_Status* status) {
  Driver* driver = Of(profiler);
  Destroy(driver, status);
  crosscut_pjrt_create_args create = {sizeof create, driver->options, driver->options_size,
                                      nullptr};
  if (!Good(*driver, driver->api->create(&create), status)) return;
  driver->profiler = create.profiler;
  crosscut_pjrt_profiler_args args = {sizeof args, driver->profiler};
  (void)Good(*driver, driver->api->start(&args), status);
}

void Stop(const TP_Profiler* profiler, TF_Status* status) {
  const Driver* driver = Of(profiler);
  crosscut_pjrt_profiler_args args = {sizeof args, driver->profiler};
  (void)Good(*driver, driver->api->stop(&args), status);
}

// Two ways: at the question for the size the plugin hands over a pointer of its own, or it says
// the size and fills our buffer at the next call. A size that is more than there was room for means
// that nothing was fetched: the session stays for those who ask again.
void Collect(const TP_Profiler* profiler, uint8_t* buffer, size_t* size, TF_Status* status) {
  Driver* driver = Of(profiler);
  if (buffer != nullptr && driver->bytes != nullptr) {
    *size = driver->size < *size ? driver->size : *size;
    memcpy(buffer, driver->bytes, *size);
    return Destroy(driver, status);
  }
  const size_t room = buffer == nullptr ? 0 : *size;
  if (driver->profiler == nullptr) {
    *size = 0;
    return Status::SetOwn(status, TF_FAILED_PRECONDITION, "its session is over");
  }
  crosscut_pjrt_collect_args args = {sizeof args, driver->profiler, buffer, room};
  if (!Good(*driver, driver->api->collect_data(&args), status)) {
    *size = 0;
    return;
  }
  *size = args.buffer_size;
  if (buffer == nullptr) {
    driver->bytes = args.buffer;
    driver->size = args.buffer_size;
  }
  if (*size == 0 || (buffer != nullptr && *size <= room)) Destroy(driver, status);
}

const crosscut_pjrt_profiler_api* FindProfiler(const crosscut_pjrt_api* api) {
  if (api == nullptr || api->struct_size < sizeof(size_t) + sizeof(void*)) return nullptr;
  const crosscut_pjrt_extension* at = api->extension_start;
  for (int i = 0; at != nullptr && i < kMostExtensions; ++i, at = at->next) {
    if (at->type != CROSSCUT_PJRT_EXTENSION_PROFILER ||
        at->struct_size < sizeof(crosscut_pjrt_extension) + sizeof(void*)) {
      continue;
    }
    return reinterpret_cast<const crosscut_pjrt_profiler_extension*>(at)->profiler_api;
  }
  return nullptr;
}

bool Complete(const crosscut_pjrt_profiler_api& api) {
  return api.struct_size >= kSmallestApi && api.error_destroy != nullptr &&
         api.error_message != nullptr && api.error_get_code != nullptr && api.create != nullptr &&
         api.destroy != nullptr && api.start != nullptr && api.stop != nullptr &&
         api.collect_data != nullptr;
}

bool Refuse(Refusal* refusal, const char* why) {
  refusal->code = TF_FAILED_PRECONDITION;
  snprintf(refusal->message, sizeof refusal->message, "%s", why);
  return false;
}

}  // namespace

bool RegisterPjrt(const crosscut_pjrt_api* (*get)(), const Gate& gate, Registration* out,
                  Refusal* refusal) {
  const crosscut_pjrt_profiler_api* api = FindProfiler(get());
  if (api == nullptr) return Refuse(refusal, "this PJRT plugin brings no profiler");
  if (!Complete(*api)) return Refuse(refusal, "its PLUGIN_Profiler_Api lacks functions");
  auto* driver = new (std::nothrow) Driver{api, {}, 0};
  if (driver == nullptr) return Refuse(refusal, "no memory");
  Encode(gate.device_tracer_level, driver);
  snprintf(out->device_type, sizeof out->device_type, "PJRT");
  out->profiler = {TP_PROFILER_STRUCT_SIZE, driver, out->device_type};
  out->fns = {TP_PROFILER_FNS_STRUCT_SIZE, nullptr, &Start, &Stop, &Collect};
  out->status_library = nullptr;
  return true;
}

}  // namespace crosscut::host
