// What the planes, lines and event names of an XSpace stand for.
#pragma once

#include <string_view>

#include "src/trace/trace.h"
#include "src/xspace/reader.h"

namespace crosscut::import {

// Whether a plane's lines are a device's.
bool IsDevicePlane(std::string_view name);
// Lines that the writer derived from others of the same plane: to count them would be to count
// twice. `has_streams`: the plane has lines of real queues.
bool IsDerivedLine(const xspace::Line& line, bool has_streams);
// Events of the host tracer that stand for no work: marks of thread pools, and the ends by which
// XLA's CPU back end says which thunk went before which.
bool IsBookkeeping(std::string_view event);
// The layer of a host event, from its name. "$file.py:12 function" is the Python tracer's.
trace::Layer HostLayer(std::string_view event);

}  // namespace crosscut::import
