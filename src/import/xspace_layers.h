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
// The layer of a host event, from its name.
trace::Layer HostLayer(std::string_view event);

}  // namespace crosscut::import
