// What the planes, lines and event names of TensorFlow's and JAX's profiles mean: of an XSpace, and
// of the Chrome JSON that XProf makes of one, whose processes are planes and whose threads are
// lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/trace/trace.h"

namespace crosscut::import {

// Whether a plane's lines are a device's; whether it is a host's, where others are no planes.
bool IsDevicePlane(std::string_view name);
bool IsHostPlane(std::string_view name);
// Ordinal at the end of "/device:GPU:3" or "/device:GPU:0 (XLA)".
std::optional<int64_t> OrdinalOf(std::string_view plane);
// Whether a device's line is a real queue.
bool IsStream(std::string_view line);
// Whether the writer derived the line from others of the same plane, so that counting it would
// count work twice. `has_streams`: the plane has lines of real queues.
bool IsDerivedLine(int64_t id, std::string_view name, bool has_streams);
// Whether an event of the host tracer stands for no work: marks of thread pools, and the ends by
// which XLA's CPU back end orders thunks.
bool IsBookkeeping(std::string_view event);
// The layer of a host event, from its name. "$file.py:12 function" is the Python tracer's.
trace::Layer HostLayer(std::string_view event);

}  // namespace crosscut::import
