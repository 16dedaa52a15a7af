/* Writes each call that it gets, and what it was called with, as a line of the file $CALLS.<CHIP>.
 * Built against the API of TensorFlow's RFC alone. PLANE is the name of the plane that it collects;
 * "" where it has nothing to say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crosscut/plugin.h"

static int mine = 7;

static void say(const char* call, size_t number) {
  char path[4096];
  snprintf(path, sizeof path, "%s.%s", getenv("CALLS"), CHIP);
  FILE* file = fopen(path, "a");
  if (file == NULL) return;
  fprintf(file, "%s %zu\n", call, number);
  fclose(file);
}

/* Whether the struct is as this plugin has filled it. */
static size_t own(const TP_Profiler* profiler) {
  return profiler->struct_size == TP_PROFILER_STRUCT_SIZE && profiler->ext == &mine &&
         strcmp(profiler->device_type, CHIP) == 0;
}

static void start(const TP_Profiler* profiler, TF_Status* status) {
  (void)status;
  say("start", own(profiler));
}

static void stop(const TP_Profiler* profiler, TF_Status* status) {
  (void)status;
  say("stop", own(profiler));
}

/* A space of one plane that has nothing but its name. */
static void collect(const TP_Profiler* profiler, uint8_t* buffer, size_t* size, TF_Status* status) {
  (void)status;
  const size_t length = strlen(PLANE), bytes = length == 0 ? 0 : length + 4;
  say(buffer == NULL ? "size" : "bytes", buffer == NULL ? own(profiler) : *size);
  if (buffer != NULL) {
    const uint8_t head[] = {0x0a, (uint8_t)(length + 2), 0x12, (uint8_t)length};
    memcpy(buffer, head, sizeof head);
    memcpy(buffer + sizeof head, PLANE, length);
  }
  *size = bytes;
}

static void destroy(TP_Profiler* profiler) { say("destroy", own(profiler)); }
static void destroy_fns(TP_ProfilerFns* fns) { say("destroy_fns", fns->start == &start); }

__attribute__((visibility("default"))) void TF_InitProfiler(TF_ProfilerRegistrationParams* params,
                                                            TF_Status* status) {
  (void)status;
  say("init", params->major_version * 10000 + params->minor_version * 100 + params->patch_version);
  params->profiler->struct_size = TP_PROFILER_STRUCT_SIZE;
  params->profiler->ext = &mine;
  params->profiler->device_type = CHIP;
  params->profiler_fns->struct_size = TP_PROFILER_FNS_STRUCT_SIZE;
  params->profiler_fns->start = &start;
  params->profiler_fns->stop = &stop;
  params->profiler_fns->collect_data_xspace = &collect;
  params->destroy_profiler = &destroy;
  params->destroy_profiler_fns = &destroy_fns;
}
