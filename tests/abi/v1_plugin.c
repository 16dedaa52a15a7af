/* A plugin of the first version of the ABI, with its own copy of the structs: what is in use out
 * there. Frozen: it must build, load and work for ever, and this file is never changed to make it
 * do so. It includes nothing of this project. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct v1_profiler {
  size_t struct_size;
  void* ext;
  const char* device_type;
} v1_profiler;

typedef struct v1_functions {
  size_t struct_size;
  void* ext;
  void (*start)(const v1_profiler* profiler, void* status);
  void (*stop)(const v1_profiler* profiler, void* status);
  void (*collect)(const v1_profiler* profiler, uint8_t* buffer, size_t* size, void* status);
} v1_functions;

typedef struct v1_params {
  size_t struct_size;
  void* ext;
  int32_t major_version, minor_version, patch_version;
  v1_profiler* profiler;
  v1_functions* functions;
  void (*destroy_profiler)(v1_profiler* profiler);
  void (*destroy_functions)(v1_functions* functions);
} v1_params;

extern void TF_SetStatus(void* status, int code, const char* message);

static uint8_t space[64];
static size_t space_size;
static uint64_t began;

static uint8_t* varint(uint8_t* at, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = (uint8_t)(value | 0x80);
  *at++ = (uint8_t)value;
  return at;
}

static void start(const v1_profiler* profiler, void* status) {
  (void)profiler;
  space_size = 0;
  began = (uint64_t)time(NULL) * 1000000000u;
  TF_SetStatus(status, 0, "");
}

/* A plane with one line and no events: {planes {name "/device:V1", lines {id 1, timestamp}}}. */
static void stop(const v1_profiler* profiler, void* status) {
  const char* work = getenv("CROSSCUT_PLUGIN_MOCK_WORK");
  uint8_t line[16], plane[48];
  uint8_t *end, *last;
  (void)profiler;
  TF_SetStatus(status, 0, "");
  if (work == NULL || atoi(work) == 0 || began == 0) return;
  end = varint(varint(line, 1 << 3), 1);
  end = varint(varint(end, 3 << 3), began);
  last = varint(varint(plane, 2 << 3 | 2), 10);
  memcpy(last, "/device:V1", 10);
  last = varint(varint(last + 10, 3 << 3 | 2), (uint64_t)(end - line));
  memcpy(last, line, (size_t)(end - line));
  last += end - line;
  end = varint(varint(space, 1 << 3 | 2), (uint64_t)(last - plane));
  memcpy(end, plane, (size_t)(last - plane));
  space_size = (size_t)(end + (last - plane) - space);
  began = 0;
}

static void collect(const v1_profiler* profiler, uint8_t* buffer, size_t* size, void* status) {
  (void)profiler;
  if (buffer != NULL && *size < space_size) {
    *size = 0;
    TF_SetStatus(status, 9, "the buffer is too small");
    return;
  }
  if (buffer != NULL) memcpy(buffer, space, space_size);
  *size = space_size;
  if (buffer != NULL) space_size = 0;
  TF_SetStatus(status, 0, "");
}

static void destroy_profiler(v1_profiler* profiler) { (void)profiler; }
static void destroy_functions(v1_functions* functions) { (void)functions; }

__attribute__((visibility("default"))) void TF_InitProfiler(v1_params* params, void* status) {
  if (params->struct_size < 64) {
    TF_SetStatus(status, 9, "params is too small");
    return;
  }
  params->profiler->struct_size = 24;
  params->profiler->device_type = "FROZEN";
  params->functions->struct_size = 40;
  params->functions->start = start;
  params->functions->stop = stop;
  params->functions->collect = collect;
  params->destroy_profiler = destroy_profiler;
  params->destroy_functions = destroy_functions;
  TF_SetStatus(status, 0, "");
}
