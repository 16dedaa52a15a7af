// What the planes, lines and event names of an XSpace mean.
#pragma once

#include <string_view>

#include "src/trace/trace.h"
#include "src/xspace/reader.h"

namespace crosscut::import {

// Whether a plane's lines are a device's.
bool IsDevicePlane(std::string_view name);
// Whether the writer derived the line from others of the same plane, so that counting it would
// count work twice. `has_streams`: the plane has lines of real queues.
bool IsDerivedLine(const xspace::Line& line, bool has_streams);
// Whether an event of the host tracer stands for no work: marks of thread pools, and the ends by
// which XLA's CPU back end orders thunks.
bool IsBookkeeping(std::string_view event);
// The layer of a host event, from its name. "$file.py:12 function" is the Python tracer's.
trace::Layer HostLayer(std::string_view event);

}  // namespace crosscut::import
