// What kind of device a track is of, and what is known of the device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::exporting {

// Work on a GPU: the file that it comes from calls it so, or the device's name is that of one.
bool IsGpuWork(const trace::Trace& trace, const trace::Track& track);

struct DeviceProperty {
  std::string name;  // as XProf's planes have it: "memory_size"
  std::string text;  // "": it is a number
  int64_t number = 0;
};
// Those that the process's fact deviceProperties, as Kineto writes it, tells of a device.
std::vector<DeviceProperty> PropertiesOf(const trace::Trace& trace, const trace::Process& process,
                                         int64_t device);

}  // namespace crosscut::exporting
