// A plugin with a thread of its own that pushes all the time: clocks, names, instants that are
// numbered by their times.
#include <crosscut/plugin.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>

namespace {

const crosscut_host* host = nullptr;
uint32_t clock_id = 0, track_id = 0, name_id = 0;
int running = 0;  // atomic
int64_t pushed = 0;
pthread_t thread;

void* Pushes(void*) {
  for (uint64_t i = 0; __atomic_load_n(&running, __ATOMIC_ACQUIRE) != 0; ++i) {
    const int64_t now = host->now_ns(host->host);
    host->reading(host->host, clock_id, now, now, 10);
    host->instant(host->host, track_id, name_id, ++pushed);
    if (i % 16 == 0) {
      char text[32];
      snprintf(text, sizeof text, "pushed %lld", static_cast<long long>(i % 4096));
      (void)host->name(host->host, text, SIZE_MAX, CROSSCUT_ON_DEVICE, 0);
    }
    if (i % 4 == 0) usleep(50);
  }
  return nullptr;
}

void Start(const TP_Profiler*, TF_Status*) {
  __atomic_store_n(&running, 1, __ATOMIC_RELEASE);
  pthread_create(&thread, nullptr, &Pushes, nullptr);
}

void Stop(const TP_Profiler*, TF_Status*) {
  __atomic_store_n(&running, 0, __ATOMIC_RELEASE);
  pthread_join(thread, nullptr);
}

void Collect(const TP_Profiler*, uint8_t*, size_t* size, TF_Status*) { *size = 0; }
void Destroy(TP_Profiler*) {}
void DestroyFunctions(TP_ProfilerFns*) {}

}  // namespace

extern "C" __attribute__((visibility("default"))) void TF_InitProfiler(
    TF_ProfilerRegistrationParams* params, TF_Status*) {
  host = crosscut_host_of(params);
  if (host != nullptr) {
    clock_id = host->clock(host->host, "device");
    const crosscut_track track = {sizeof track, 0, 1, 0, "queue", "device"};
    track_id = host->track(host->host, &track);
    name_id = host->name(host->host, "pushed", SIZE_MAX, CROSSCUT_ON_DEVICE, 0);
  }
  params->profiler->struct_size = TP_PROFILER_STRUCT_SIZE;
  params->profiler->device_type = "STRESS";
  params->profiler_fns->struct_size = TP_PROFILER_FNS_STRUCT_SIZE;
  params->profiler_fns->start = &Start;
  params->profiler_fns->stop = &Stop;
  params->profiler_fns->collect_data_xspace = &Collect;
  params->destroy_profiler = &Destroy;
  params->destroy_profiler_fns = &DestroyFunctions;
}
