/* A good plugin that knows TensorFlow's member names and not our header: the structs as
 * tensorflow/c/experimental/pluggable_profiler/pluggable_profiler.h has them, and TF_SetStatus
 * undefined in the library. Its device never works. */
#include <stddef.h>
#include <stdint.h>

typedef struct TF_Status TF_Status;
extern void TF_SetStatus(TF_Status* s, int code, const char* msg);

typedef struct TP_Profiler {
  size_t struct_size;
  void* ext;
  const char* device_type;
} TP_Profiler;

typedef struct TP_ProfilerFns {
  size_t struct_size;
  void* ext;
  void (*start)(const TP_Profiler* profiler, TF_Status* status);
  void (*stop)(const TP_Profiler* profiler, TF_Status* status);
  void (*collect_data_xspace)(const TP_Profiler* profiler, uint8_t* buffer, size_t* size_in_bytes,
                              TF_Status* status);
} TP_ProfilerFns;

typedef struct TF_ProfilerRegistrationParams {
  size_t struct_size;
  void* ext;
  int32_t major_version;
  int32_t minor_version;
  int32_t patch_version;
  TP_Profiler* profiler;
  TP_ProfilerFns* profiler_fns;
  void (*destroy_profiler)(TP_Profiler* profiler);
  void (*destroy_profiler_fns)(TP_ProfilerFns* profiler_fns);
} TF_ProfilerRegistrationParams;

static void start(const TP_Profiler* profiler, TF_Status* status) {
  (void)profiler;
  TF_SetStatus(status, 0, "");
}
static void stop(const TP_Profiler* profiler, TF_Status* status) {
  (void)profiler;
  TF_SetStatus(status, 0, "");
}
static void collect(const TP_Profiler* profiler, uint8_t* buffer, size_t* size_in_bytes,
                    TF_Status* status) {
  (void)profiler;
  (void)buffer;
  *size_in_bytes = 0;
  TF_SetStatus(status, 0, "");
}
static void destroy_profiler(TP_Profiler* profiler) { (void)profiler; }
static void destroy_profiler_fns(TP_ProfilerFns* fns) { (void)fns; }

__attribute__((visibility("default"))) void TF_InitProfiler(TF_ProfilerRegistrationParams* params,
                                                            TF_Status* status) {
  if (params->struct_size < sizeof *params) {
    TF_SetStatus(status, 9, "params is too small");
    return;
  }
  params->profiler->device_type = "OTHER";
  params->profiler_fns->start = start;
  params->profiler_fns->stop = stop;
  params->profiler_fns->collect_data_xspace = collect;
  params->destroy_profiler = destroy_profiler;
  params->destroy_profiler_fns = destroy_profiler_fns;
}
