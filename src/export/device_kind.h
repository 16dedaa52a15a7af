// The kind of device to which a track belongs, and the known properties of the device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/trace/trace.h"

namespace crosscut::exporting {

// Whether the track has work on a GPU: its first span has a category of GPU work, or is work on a
// device with the name of a GPU.
bool IsGpuWork(const trace::Trace& trace, const trace::Track& track);

struct DeviceProperty {
  std::string name;  // as XProf's planes have it: "memory_size"
  std::string text;  // "": it is a number
  int64_t number = 0;
};
// What the process's fact deviceProperties, as Kineto writes it, states about a device.
std::vector<DeviceProperty> PropertiesOf(const trace::Trace& trace, const trace::Process& process,
                                         int64_t device);

}  // namespace crosscut::exporting
