// The devices that queues were made for, and questions to drivers about devices and events.
#pragma once

#include <cstdint>

#include "api.h"
#include "clocks.h"

namespace crosscut::opencl {

struct Device {
  cl_device_id id = nullptr;
  int64_t index = 0;  // 0, 1, ... in the order of their first queues
  char name[128] = {};
  bool has_callbacks = false;  // OpenCL 1.1
  DeviceClock clock;
};

// The device's record, which is never freed; identifies its clock at the first call. Null where
// there is no room for another one.
Device* DeviceOf(cl_context context, cl_device_id device);
// Known devices by index; null beyond the last.
Device* DeviceAt(int64_t index);

// 10 * major + minor: what OpenCL calls the device's driver has, whatever its loader offers.
int VersionOf(cl_device_id device);
// The device that a sub-device is a part of; alive as long as the process.
cl_device_id RootOf(cl_device_id device);

// A profiling stamp of a completed event, ns of the device's clock.
bool EventTime(const cl_icd_dispatch& driver, cl_event event, cl_profiling_info which,
               int64_t* time);

}  // namespace crosscut::opencl
