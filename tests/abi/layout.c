/* What old binaries rely on: every offset and size of the plugin ABI, for 64-bit machines. Built as
 * C99 and as C++20. To change a line here is to break plugins that are in use. */
#include "crosscut/pjrt_profiler.h"
#include "crosscut/plugin.h"

#ifdef __cplusplus
#define STATIC_ASSERT(condition, name) static_assert(condition, #name)
#else
#define STATIC_ASSERT(condition, name) typedef char name[(condition) ? 1 : -1]
#endif

#define AT(type, member, offset) \
  STATIC_ASSERT(offsetof(type, member) == (offset), type##_##member##_moved)

AT(TP_Profiler, struct_size, 0);
AT(TP_Profiler, ext, 8);
AT(TP_Profiler, device_type, 16);
STATIC_ASSERT(TP_PROFILER_STRUCT_SIZE == 24, TP_Profiler_size);

AT(TP_ProfilerFns, struct_size, 0);
AT(TP_ProfilerFns, ext, 8);
AT(TP_ProfilerFns, start, 16);
AT(TP_ProfilerFns, stop, 24);
AT(TP_ProfilerFns, collect_data_xspace, 32);
STATIC_ASSERT(TP_PROFILER_FNS_STRUCT_SIZE == 40, TP_ProfilerFns_size);

AT(TF_ProfilerRegistrationParams, struct_size, 0);
AT(TF_ProfilerRegistrationParams, ext, 8);
AT(TF_ProfilerRegistrationParams, major_version, 16);
AT(TF_ProfilerRegistrationParams, minor_version, 20);
AT(TF_ProfilerRegistrationParams, patch_version, 24);
AT(TF_ProfilerRegistrationParams, profiler, 32);
AT(TF_ProfilerRegistrationParams, profiler_fns, 40);
AT(TF_ProfilerRegistrationParams, destroy_profiler, 48);
AT(TF_ProfilerRegistrationParams, destroy_profiler_fns, 56);
STATIC_ASSERT(TF_PROFILER_REGISTRATION_PARAMS_STRUCT_SIZE == 64,
              TF_ProfilerRegistrationParams_size);

AT(crosscut_extension, struct_size, 0);
AT(crosscut_extension, magic, 8);
AT(crosscut_extension, kind, 16);
AT(crosscut_extension, version, 20);
AT(crosscut_extension, next, 24);
STATIC_ASSERT(sizeof(crosscut_extension) == 32, crosscut_extension_size);

AT(crosscut_track, struct_size, 0);
AT(crosscut_track, device, 8);
AT(crosscut_track, queue, 16);
AT(crosscut_track, clock, 24);
AT(crosscut_track, name, 32);
AT(crosscut_track, device_name, 40);
STATIC_ASSERT(sizeof(crosscut_track) == 48, crosscut_track_size);

AT(crosscut_plugin_callbacks, struct_size, 0);
AT(crosscut_plugin_callbacks, self, 8);
AT(crosscut_plugin_callbacks, flush, 16);
AT(crosscut_plugin_callbacks, set_level, 24);
AT(crosscut_plugin_callbacks, calibrate, 32);
AT(crosscut_plugin_callbacks, other_profiler, 40);
STATIC_ASSERT(sizeof(crosscut_plugin_callbacks) == 48, crosscut_plugin_callbacks_size);

AT(crosscut_host, head, 0);
AT(crosscut_host, host, 32);
AT(crosscut_host, option, 40);
AT(crosscut_host, tell, 48);
AT(crosscut_host, set_callbacks, 56);
AT(crosscut_host, probe, 64);
AT(crosscut_host, name, 72);
AT(crosscut_host, word, 80);
AT(crosscut_host, track, 88);
AT(crosscut_host, begin, 96);
AT(crosscut_host, end, 104);
AT(crosscut_host, flow_out, 112);
AT(crosscut_host, span, 120);
AT(crosscut_host, instant, 128);
AT(crosscut_host, counter, 136);
AT(crosscut_host, arg, 144);
AT(crosscut_host, arg_word, 152);
AT(crosscut_host, flow_in, 160);
AT(crosscut_host, lost, 168);
AT(crosscut_host, now_ns, 176);
AT(crosscut_host, clock, 184);
AT(crosscut_host, reading, 192);
AT(crosscut_host, probe_cost, 200);

STATIC_ASSERT(sizeof(crosscut_pjrt_error_args) == 24, crosscut_pjrt_error_args_size);
STATIC_ASSERT(sizeof(crosscut_pjrt_message_args) == 40, crosscut_pjrt_message_args_size);
AT(crosscut_pjrt_code_args, code, 24);
STATIC_ASSERT(sizeof(crosscut_pjrt_create_args) == 32, crosscut_pjrt_create_args_size);
STATIC_ASSERT(sizeof(crosscut_pjrt_profiler_args) == 16, crosscut_pjrt_profiler_args_size);
STATIC_ASSERT(sizeof(crosscut_pjrt_collect_args) == 32, crosscut_pjrt_collect_args_size);
STATIC_ASSERT(sizeof(crosscut_pjrt_profiler_api) == 80, crosscut_pjrt_profiler_api_size);
STATIC_ASSERT(sizeof(crosscut_pjrt_extension) == 24, crosscut_pjrt_extension_size);
STATIC_ASSERT(sizeof(crosscut_pjrt_profiler_extension) == 40,
              crosscut_pjrt_profiler_extension_size);
AT(crosscut_pjrt_api, extension_start, 8);

int crosscut_layout_holds;
