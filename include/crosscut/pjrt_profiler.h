/* The profiler that a PJRT plugin brings (OpenXLA's PLUGIN_Profiler C API, version 1, reached
 * through the PJRT_Profiler_Extension of a PJRT_Api): the structs of both sides, by layout. They
 * have names of our own, so that this header and OpenXLA's can stand in one file.
 *
 * OpenXLA's host leaves struct_size of most arguments unset: a plugin must not read it there. It
 * calls collect_data once, with buffer null, and takes the pointer that the plugin puts there,
 * which is the plugin's own until destroy.
 */
#ifndef CROSSCUT_PJRT_PROFILER_H_
#define CROSSCUT_PJRT_PROFILER_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct crosscut_pjrt_profiler crosscut_pjrt_profiler; /* the plugin's: one session */
typedef struct crosscut_pjrt_error crosscut_pjrt_error;       /* the plugin's; null = good */

typedef struct crosscut_pjrt_error_args {
  size_t struct_size;
  void* priv;
  crosscut_pjrt_error* error;
} crosscut_pjrt_error_args;

typedef struct crosscut_pjrt_message_args {
  size_t struct_size;
  void* priv;
  const crosscut_pjrt_error* error;
  const char* message; /* out; the plugin's, until the error is destroyed */
  size_t message_size; /* out */
} crosscut_pjrt_message_args;

typedef struct crosscut_pjrt_code_args {
  size_t struct_size;
  void* priv;
  const crosscut_pjrt_error* error;
  int code; /* out: as TF_Code */
} crosscut_pjrt_code_args;

typedef struct crosscut_pjrt_create_args {
  size_t struct_size;
  const char* options; /* a serialised tensorflow.ProfileOptions */
  size_t options_size;
  crosscut_pjrt_profiler* profiler; /* out */
} crosscut_pjrt_create_args;

/* Of destroy, start and stop. */
typedef struct crosscut_pjrt_profiler_args {
  size_t struct_size;
  crosscut_pjrt_profiler* profiler;
} crosscut_pjrt_profiler_args;

typedef struct crosscut_pjrt_collect_args {
  size_t struct_size;
  crosscut_pjrt_profiler* profiler;
  uint8_t* buffer;    /* in: null, or room for the size told before; out: the bytes */
  size_t buffer_size; /* out */
} crosscut_pjrt_collect_args;

typedef struct crosscut_pjrt_profiler_api {
  size_t struct_size; /* at least 80; 104 where three functions follow that we do not call */
  void* priv;
  void (*error_destroy)(crosscut_pjrt_error_args*);
  void (*error_message)(crosscut_pjrt_message_args*);
  crosscut_pjrt_error* (*error_get_code)(crosscut_pjrt_code_args*);
  crosscut_pjrt_error* (*create)(crosscut_pjrt_create_args*);
  crosscut_pjrt_error* (*destroy)(crosscut_pjrt_profiler_args*);
  crosscut_pjrt_error* (*start)(crosscut_pjrt_profiler_args*);
  crosscut_pjrt_error* (*stop)(crosscut_pjrt_profiler_args*);
  crosscut_pjrt_error* (*collect_data)(crosscut_pjrt_collect_args*);
} crosscut_pjrt_profiler_api;

/* The head of every extension of a PJRT_Api. */
typedef struct crosscut_pjrt_extension {
  size_t struct_size;
  int32_t type; /* CROSSCUT_PJRT_EXTENSION_PROFILER, others */
  struct crosscut_pjrt_extension* next;
} crosscut_pjrt_extension;
enum { CROSSCUT_PJRT_EXTENSION_PROFILER = 1 };

typedef struct crosscut_pjrt_profiler_extension {
  crosscut_pjrt_extension head;
  crosscut_pjrt_profiler_api* profiler_api; /* null where it only carries the context id */
  int64_t traceme_context_id;
} crosscut_pjrt_profiler_extension;

/* What GetPjrtApi() returns, as far as a profiler needs it: much follows in a real one. */
typedef struct crosscut_pjrt_api {
  size_t struct_size;
  crosscut_pjrt_extension* extension_start;
  struct {
    size_t struct_size;
    crosscut_pjrt_extension* extension_start;
    int32_t major, minor;
  } version;
} crosscut_pjrt_api;

#ifdef __cplusplus
}
#endif
#endif /* CROSSCUT_PJRT_PROFILER_H_ */
