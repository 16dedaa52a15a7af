#include "devices.h"

#include <crosscut/fork_safe_mutex.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace crosscut::opencl {
namespace {

constexpr int64_t kMaxDevices = 64;

ForkSafeMutex mutex;  // of making devices
constinit std::atomic<Device*> devices[kMaxDevices] = {};

Device* Make(int64_t index, cl_context context, cl_device_id id) {
  auto* device = new (std::nothrow) Device;
  if (device == nullptr) return nullptr;
  device->id = id;
  device->index = index;
  if (Driver().clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof device->name - 1, device->name,
                               nullptr) != CL_SUCCESS) {
    strcpy(device->name, "OpenCL device");
  }
  device->has_callbacks = VersionOf(id) >= 11;
  device->clock.Identify(context, id);
  return device;
}

}  // namespace

Device* DeviceAt(int64_t index) {
  return index < kMaxDevices ? devices[index].load(std::memory_order_acquire) : nullptr;
}

Device* DeviceOf(cl_context context, cl_device_id id) {
  const std::lock_guard<ForkSafeMutex> lock(mutex);
  int64_t index = 0;
  for (; Device* device = DeviceAt(index); ++index) {
    if (device->id == id) return device;
  }
  if (index == kMaxDevices) return nullptr;
  Device* device = Make(index, context, id);
  devices[index].store(device, std::memory_order_release);
  return device;
}

int VersionOf(cl_device_id device) {
  char text[256] = {};  // "OpenCL 3.0 and what the vendor adds"
  if (Driver().clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof text - 1, text, nullptr) !=
          CL_SUCCESS ||
      strncmp(text, "OpenCL ", 7) != 0) {
    return 10;
  }
  char* rest = nullptr;
  const long major = strtol(text + 7, &rest, 10);
  const long minor = *rest == '.' ? strtol(rest + 1, nullptr, 10) : 0;
  return static_cast<int>(10 * major + minor);
}

cl_device_id RootOf(cl_device_id device) {
  for (;;) {
    cl_device_id parent = nullptr;
    if (Driver().clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof(cl_device_id), &parent,
                                 nullptr) != CL_SUCCESS ||
        parent == nullptr) {
      return device;
    }
    device = parent;
  }
}

bool EventTime(const cl_icd_dispatch& driver, cl_event event, cl_profiling_info which,
               int64_t* time) {
  cl_ulong value = 0;
  if (driver.clGetEventProfilingInfo(event, which, sizeof value, &value, nullptr) != CL_SUCCESS) {
    return false;
  }
  *time = static_cast<int64_t>(value);
  return true;
}

}  // namespace crosscut::opencl
