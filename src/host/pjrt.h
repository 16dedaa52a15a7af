// PJRT plugins through the same door: their PLUGIN_Profiler is driven by the functions of the other
// ABI, so that the controller knows but one.
#pragma once

#include "crosscut/pjrt_profiler.h"
#include "src/host/hooks.h"
#include "src/host/registration.h"

namespace crosscut::host {

// Finds the profiler of the PJRT_Api that `get` returns and fills `out` with functions that drive
// it: an instance per session, made at start and destroyed when its data was fetched or the next
// session starts. It is told the device tracer level of `gate`. False: `refusal` says what is
// missing. `out` must not move afterwards.
bool RegisterPjrt(const crosscut_pjrt_api* (*get)(), const Gate& gate, Registration* out,
                  Refusal* refusal);

}  // namespace crosscut::host
