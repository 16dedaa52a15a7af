// What a plugin said of itself in TF_InitProfiler, checked as TensorFlow checks it.
#pragma once

#include <cstddef>

#include "crosscut/plugin.h"
#include "src/host/library.h"
#include "src/host/status.h"

namespace crosscut::host {

struct Registration {
  TP_Profiler profiler = {};
  TP_ProfilerFns fns = {};
  void (*destroy_profiler)(TP_Profiler*) = nullptr;
  void (*destroy_profiler_fns)(TP_ProfilerFns*) = nullptr;
  char device_type[64] = {};       // copied; profiler.device_type points at it
  void* status_library = nullptr;  // for Status
};

struct Refusal {
  TF_Code code = TF_OK;
  char message[256] = {};
};

// Calls TF_InitProfiler with zeroed structs and `extension` in params->ext, then makes TensorFlow's
// eleven checks in its order and ours behind them (struct sizes that end before a member in use, a
// major version that we do not know). False: `refusal` says which, with TensorFlow's code. May let
// exceptions of the plugin pass: call it inside GuardedCall(). `status`: for the plugin to set.
bool Register(const Library& library, const crosscut_extension* extension, const Status& status,
              Registration* out, Refusal* refusal);

// A capital letter, then capitals and underscores.
bool IsDeviceType(const char* text);

}  // namespace crosscut::host
