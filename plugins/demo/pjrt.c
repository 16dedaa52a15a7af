/* The same plugin for OpenXLA (JAX, PyTorch/XLA): TF_InitProfiler's functions behind a
 * PLUGIN_Profiler. Copy this file as it is: it knows nothing of the device.
 *
 * OpenXLA makes a profiler object per session; the functions behind have one session at a time, so
 * a second object while one lives is refused. Sizes in arguments are not read: its host leaves them
 * unset. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "crosscut/pjrt_profiler.h"
#include "crosscut/plugin.h"
#include "status.h"

struct crosscut_pjrt_error {
  int code;
  char message[256];
};

struct crosscut_pjrt_profiler {
  uint8_t* bytes; /* what collect_data handed over */
};

static struct {
  pthread_once_t once;
  TP_Profiler profiler;
  TP_ProfilerFns fns;
  crosscut_pjrt_profiler* live; /* the session's; null: none */
  pthread_mutex_t mutex;
} plugin = {.once = PTHREAD_ONCE_INIT, .mutex = PTHREAD_MUTEX_INITIALIZER};

static crosscut_pjrt_error* error_of(int code, const char* message) {
  crosscut_pjrt_error* error = calloc(1, sizeof *error);
  if (error == NULL) return NULL;
  error->code = code;
  strncpy(error->message, message, sizeof error->message - 1);
  return error;
}

static void register_once(void) {
  TF_ProfilerRegistrationParams params = {0};
  demo_status status = demo_status_new();
  params.struct_size = TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE;
  params.major_version = TP_MAJOR;
  params.minor_version = TP_MINOR;
  params.patch_version = TP_PATCH;
  params.profiler = &plugin.profiler;
  params.profiler_fns = &plugin.fns;
  plugin.profiler.struct_size = TP_PROFILER_STRUCT_SIZE;
  plugin.fns.struct_size = TP_PROFILER_FNS_STRUCT_SIZE;
  TF_InitProfiler(&params, status.object);
  demo_status_delete(&status);
}

/* Calls one of the functions and turns its status into an error. */
static crosscut_pjrt_error* call(void (*function)(const TP_Profiler*, TF_Status*)) {
  demo_status status = demo_status_new();
  crosscut_pjrt_error* error = NULL;
  function(&plugin.profiler, status.object);
  if (demo_status_code(&status) != TF_OK) {
    error = error_of(demo_status_code(&status), demo_status_message(&status));
  }
  demo_status_delete(&status);
  return error;
}

static void error_destroy(crosscut_pjrt_error_args* args) { free(args->error); }

static void error_message(crosscut_pjrt_message_args* args) {
  args->message = args->error->message;
  args->message_size = strlen(args->error->message);
}

static crosscut_pjrt_error* error_get_code(crosscut_pjrt_code_args* args) {
  args->code = args->error->code;
  return NULL;
}

static crosscut_pjrt_error* create(crosscut_pjrt_create_args* args) {
  crosscut_pjrt_error* error = NULL;
  pthread_once(&plugin.once, &register_once);
  pthread_mutex_lock(&plugin.mutex);
  if (plugin.live != NULL) {
    error = error_of(TF_ALREADY_EXISTS, "this device has a session already");
  } else if ((plugin.live = calloc(1, sizeof *plugin.live)) == NULL) {
    error = error_of(TF_RESOURCE_EXHAUSTED, "no memory");
  }
  args->profiler = error == NULL ? plugin.live : NULL;
  pthread_mutex_unlock(&plugin.mutex);
  return error;
}

static crosscut_pjrt_error* destroy(crosscut_pjrt_profiler_args* args) {
  if (args->profiler == NULL) return NULL;
  pthread_mutex_lock(&plugin.mutex);
  free(args->profiler->bytes);
  free(args->profiler);
  if (plugin.live == args->profiler) plugin.live = NULL;
  pthread_mutex_unlock(&plugin.mutex);
  return NULL;
}

static crosscut_pjrt_error* start(crosscut_pjrt_profiler_args* args) {
  (void)args;
  return call(plugin.fns.start);
}

static crosscut_pjrt_error* stop(crosscut_pjrt_profiler_args* args) {
  (void)args;
  return call(plugin.fns.stop);
}

/* Both calls of the other ABI at once: the bytes stay ours until destroy. */
static crosscut_pjrt_error* collect_data(crosscut_pjrt_collect_args* args) {
  demo_status status = demo_status_new();
  size_t size = 0;
  args->buffer = NULL;
  args->buffer_size = 0;
  plugin.fns.collect_data_xspace(&plugin.profiler, NULL, &size, status.object);
  if (size > 0 && demo_status_code(&status) == TF_OK) {
    free(args->profiler->bytes);
    args->profiler->bytes = malloc(size);
    if (args->profiler->bytes == NULL) size = 0;
    if (size > 0) {
      plugin.fns.collect_data_xspace(&plugin.profiler, args->profiler->bytes, &size, status.object);
      args->buffer = args->profiler->bytes;
      args->buffer_size = size;
    }
  }
  demo_status_delete(&status);
  return NULL;
}

static crosscut_pjrt_profiler_api profiler_api = {sizeof(crosscut_pjrt_profiler_api),
                                                  NULL,
                                                  &error_destroy,
                                                  &error_message,
                                                  &error_get_code,
                                                  &create,
                                                  &destroy,
                                                  &start,
                                                  &stop,
                                                  &collect_data};
static crosscut_pjrt_profiler_extension extension = {
    {sizeof(crosscut_pjrt_profiler_extension), CROSSCUT_PJRT_EXTENSION_PROFILER, NULL},
    &profiler_api,
    0};
/* As long as a real PJRT_Api's head: a host that only wants the profiler reads no further. */
static crosscut_pjrt_api api = {
    sizeof(crosscut_pjrt_api), &extension.head, {sizeof api.version, NULL, 0, 1}};

__attribute__((visibility("default"))) const crosscut_pjrt_api* GetPjrtApi(void) { return &api; }
