/* TensorFlow's status functions for plugins that were built against it, where TensorFlow is not.
 *
 * Built twice. As libtensorflow_framework.so.2 (and _pywrap_tensorflow_internal.so), for plugins
 * that name these as their dependencies. As libcrosscut_tensorflow_status.so, loaded globally, for
 * plugins that name none: since TensorFlow may come into the process later and its own libraries
 * then find these functions first, every call about a status that is not ours goes on to
 * TensorFlow's, and new statuses are TensorFlow's from then on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* TensorFlow's begins with a pointer, which never reads as this. */
static const uint64_t kMagic = 0x5441545343435443u;

typedef struct TF_Status {
  uint64_t magic;
  int code;
  char message[1012];
} TF_Status;

typedef void (*Payload)(const char* key, const char* value, void* capture);

/* TensorFlow's own function of that name; null where it is not loaded, or is this file. */
static void* theirs(const char* name) {
#ifdef CROSSCUT_STAND_IN
  (void)name;
  return NULL;
#else
  void* library = dlopen("libtensorflow_framework.so.2", RTLD_NOLOAD | RTLD_LAZY);
  void* found;
  if (library == NULL) return NULL;
  found = dlsym(library, name);
  if (dlsym(library, "crosscut_stand_in") != NULL) found = NULL;
  dlclose(library);
  return found;
#endif
}

static int is_ours(const TF_Status* status) { return status->magic == kMagic; }

/* Calls TensorFlow's function of the same name with these arguments, if there is one. */
#define FORWARD(type, name, types, arguments)        \
  do {                                               \
    type(*function) types;                           \
    void* found = theirs(name);                      \
    memcpy(&function, &found, sizeof function);      \
    if (function != NULL) return function arguments; \
  } while (0)

#ifdef CROSSCUT_STAND_IN
EXPORT const int crosscut_stand_in = 1;
#endif

EXPORT TF_Status* TF_NewStatus(void) {
  TF_Status* status;
  FORWARD(TF_Status*, "TF_NewStatus", (void), ());
  status = calloc(1, sizeof *status);
  if (status != NULL) status->magic = kMagic;
  return status;
}

EXPORT void TF_DeleteStatus(TF_Status* status) {
  if (status == NULL) return;
  if (is_ours(status)) {
    status->magic = 0;
    free(status);
    return;
  }
  FORWARD(void, "TF_DeleteStatus", (TF_Status*), (status));
}

EXPORT void TF_SetStatus(TF_Status* status, int code, const char* message) {
  if (status == NULL) return;
  if (is_ours(status)) {
    status->code = code;
    snprintf(status->message, sizeof status->message, "%s", message == NULL ? "" : message);
    return;
  }
  FORWARD(void, "TF_SetStatus", (TF_Status*, int, const char*), (status, code, message));
}

EXPORT int TF_GetCode(const TF_Status* status) {
  if (is_ours(status)) return status->code;
  FORWARD(int, "TF_GetCode", (const TF_Status*), (status));
  return 2; /* UNKNOWN */
}

EXPORT const char* TF_Message(const TF_Status* status) {
  if (is_ours(status)) return status->message;
  FORWARD(const char*, "TF_Message", (const TF_Status*), (status));
  return "";
}

/* Ours carry no payloads: nothing here reads any. */
EXPORT void TF_SetPayload(TF_Status* status, const char* key, const char* value) {
  if (is_ours(status)) return;
  FORWARD(void, "TF_SetPayload", (TF_Status*, const char*, const char*), (status, key, value));
}

EXPORT void TF_ForEachPayload(const TF_Status* status, Payload visit, void* capture) {
  if (is_ours(status)) return;
  FORWARD(void, "TF_ForEachPayload", (const TF_Status*, Payload, void*), (status, visit, capture));
}

EXPORT void TF_SetStatusFromIOError(TF_Status* status, int error, const char* context) {
  if (is_ours(status)) {
    char text[512];
    snprintf(text, sizeof text, "%s: %s", context == NULL ? "" : context, strerror(error));
    TF_SetStatus(status, 2, text);
    return;
  }
  FORWARD(void, "TF_SetStatusFromIOError", (TF_Status*, int, const char*),
          (status, error, context));
}

#ifdef CROSSCUT_STAND_IN
/* A plugin's own log lines: the program's output is the program's. */
EXPORT void TF_Log(int level, const char* format, ...) {
  (void)level;
  (void)format;
}
EXPORT void TF_VLog(int level, const char* format, ...) {
  (void)level;
  (void)format;
}
#endif
