// The entry point. Under Crosscut everything is pushed, so that nothing is left to collect; in
// another host (TensorFlow, which has CUPTI for itself) the plugin does nothing.

#include <crosscut/plugin.h>

#include <new>

#include "session.h"

namespace crosscut::cupti {
namespace {

// Made by TF_InitProfiler, once in a process; lives as long as it, since CUPTI keeps our callbacks.
Session* session = nullptr;

void Start(const TP_Profiler*, TF_Status*) {
  if (session != nullptr) session->Start();
}

void Stop(const TP_Profiler*, TF_Status*) {
  if (session != nullptr) session->Stop();
}

void Collect(const TP_Profiler*, uint8_t*, size_t* size, TF_Status*) { *size = 0; }

void DestroyProfiler(TP_Profiler*) {}
void DestroyFunctions(TP_ProfilerFns*) {}

void Listen(const crosscut_host* host) {
  session = new (std::nothrow) Session(host);
  if (session == nullptr) return;
  crosscut_plugin_callbacks callbacks = {};
  callbacks.struct_size = sizeof callbacks;
  callbacks.self = session;
  callbacks.flush = [](void* self) { static_cast<Session*>(self)->Flush(); };
  callbacks.set_level = [](void* self, uint32_t level) {
    static_cast<Session*>(self)->SetLevel(level);
  };
  callbacks.calibrate = [](void* self) { static_cast<Session*>(self)->Calibrate(); };
  callbacks.other_profiler = [](void* self, const char* who, crosscut_profilers state,
                                uint64_t order) {
    static_cast<Session*>(self)->OtherProfiler(who, state, order);
  };
  host->set_callbacks(host->host, &callbacks);
}

}  // namespace
}  // namespace crosscut::cupti

extern "C" __attribute__((visibility("default"))) void TF_InitProfiler(
    TF_ProfilerRegistrationParams* params, TF_Status*) {
  using namespace crosscut::cupti;
  params->profiler->device_type = "CUDA";
  params->profiler_fns->start = &Start;
  params->profiler_fns->stop = &Stop;
  params->profiler_fns->collect_data_xspace = &Collect;
  params->destroy_profiler = &DestroyProfiler;
  params->destroy_profiler_fns = &DestroyFunctions;
  const crosscut_host* host = crosscut_host_of(params);
  if (host != nullptr && session == nullptr) Listen(host);
}
