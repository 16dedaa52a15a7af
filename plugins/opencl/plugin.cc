#include "plugin.h"

#include <crosscut/crosscut.h>
#include <crosscut/plugin.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "commands.h"
#include "devices.h"
#include "session.h"

namespace crosscut::opencl {
namespace {

constexpr char kVersion[] = "0.1";

void ReadClocks() {
  for (int64_t i = 0; Device* device = DeviceAt(i); ++i) device->clock.Read();
}

// "the name: CLOCK_MONOTONIC_RAW, right to +-180 ns; ..."
void DescribeDevices(char* text, size_t size) {
  size_t used = 0;
  for (int64_t i = 0; used < size; ++i) {
    const Device* device = DeviceAt(i);
    if (device == nullptr) return;
    used += snprintf(text + used, size - used, "%s%s: %s, right to +-%lld ns", i == 0 ? "" : "; ",
                     device->name, device->clock.KindName(),
                     static_cast<long long>(std::max<int64_t>(0, device->clock.error_ns())));
  }
}

size_t DescribeLosses(char* text, size_t size) {
  static constexpr const char* kWhy[] = {"too many under way", "without stamps", "failed",
                                         "beside too many others", "under way at the end"};
  size_t used = 0;
  for (int i = 0; i < static_cast<int>(Loss::kCount) && used < size; ++i) {
    const auto count = static_cast<unsigned long long>(Losses(static_cast<Loss>(i)));
    if (count != 0) used += snprintf(text + used, size - used, ", %llu %s", count, kWhy[i]);
  }
  return used;
}

// What the host was told last; it says "on" by itself after every start.
char told[1024];

void TellOnce(const char* state, const char* text) {
  const crosscut_host* host = Host();
  if (host == nullptr || strcmp(text, told) == 0) return;
  snprintf(told, sizeof told, "%s", text);
  host->tell(host->host, kVersion, state, text);
}

void Tell() {
  if (!LayerIsIn()) return TellOnce("off", "no OpenCL in this process");
  char devices[700] = "no queue was made";
  DescribeDevices(devices, sizeof devices);
  char losses[250] = "";
  DescribeLosses(losses, sizeof losses);
  char text[1024];
  snprintf(text, sizeof text, "%s; %llu commands%s", devices,
           static_cast<unsigned long long>(SpansPushed()), losses);
  TellOnce("on", text);
}

void Flush(void*) {
  ReadClocks();
  TellLosses();
  Tell();
}

void Level(void*, uint32_t level) { SetLevel(level); }

void CalibrateCallback(void*) { Calibrate(); }

void Start(const TP_Profiler*, TF_Status*) {
  told[0] = '\0';
  BeginSession();
  ReadClocks();
}

void Stop(const TP_Profiler*, TF_Status*) {
  const uint32_t under_way = UnderWay(CurrentSession());
  if (under_way != 0) CountLoss(Loss::kUnderWay, under_way);
  Flush(nullptr);
  EndSession();
}

// Everything was pushed.
void Collect(const TP_Profiler*, uint8_t*, size_t* size, TF_Status*) { *size = 0; }

void DestroyProfiler(TP_Profiler*) {}
void DestroyProfilerFns(TP_ProfilerFns*) {}

void SetCallbacks(const crosscut_host* host) {
  crosscut_plugin_callbacks callbacks = {};
  callbacks.struct_size = sizeof callbacks;
  callbacks.flush = &Flush;
  callbacks.set_level = &Level;
  callbacks.calibrate = &CalibrateCallback;
  host->set_callbacks(host->host, &callbacks);
}

}  // namespace
}  // namespace crosscut::opencl

extern "C" CROSSCUT_API void TF_InitProfiler(TF_ProfilerRegistrationParams* params, TF_Status*) {
  using namespace crosscut::opencl;
  params->profiler->device_type = "OPENCL";
  params->profiler_fns->start = &Start;
  params->profiler_fns->stop = &Stop;
  params->profiler_fns->collect_data_xspace = &Collect;
  params->destroy_profiler = &DestroyProfiler;
  params->destroy_profiler_fns = &DestroyProfilerFns;
  const crosscut_host* host = crosscut_host_of(params);
  if (host == nullptr || Host() != nullptr) return;
  SetHost(host);
  SetCallbacks(host);
}
