// Queues are made with profiling on; what their application sees of them, and of their events, is
// what it would see without us. These wrappers work whether or not anything is recorded, because a
// queue outlives sessions.
#include <cstring>
#include <vector>

#include "queues.h"
#include "wrappers.h"

namespace crosscut::opencl {
namespace {

constexpr cl_queue_properties kProfiling = CL_QUEUE_PROFILING_ENABLE;
constexpr size_t kMaxProperties = 64;

// The flags in a list of properties, 0 where it has none.
cl_queue_properties FlagsIn(const cl_queue_properties* list) {
  for (; list != nullptr && *list != 0; list += 2) {
    if (list[0] == CL_QUEUE_PROPERTIES) return list[1];
  }
  return 0;
}

// `list` with profiling on; false where there is no room.
bool WithProfiling(const cl_queue_properties* list,
                   cl_queue_properties (&out)[kMaxProperties + 3]) {
  size_t count = 0;
  bool has_flags = false;
  for (; list != nullptr && *list != 0; list += 2) {
    if (count >= kMaxProperties) return false;
    const bool is_flags = list[0] == CL_QUEUE_PROPERTIES;
    out[count++] = list[0];
    out[count++] = is_flags ? list[1] | kProfiling : list[1];
    has_flags |= is_flags;
  }
  if (!has_flags) {
    out[count++] = CL_QUEUE_PROPERTIES;
    out[count++] = kProfiling;
  }
  out[count] = 0;
  return true;
}

void SetError(cl_int* place, cl_int error) {
  if (place != nullptr) *place = error;
}

cl_command_queue CreateQueue(cl_context context, cl_device_id device,
                             cl_command_queue_properties flags, cl_int* place) {
  cl_int error = CL_SUCCESS;
  const bool asked = (flags & kProfiling) != 0;
  cl_command_queue queue =
      Driver().clCreateCommandQueue(context, device, flags | kProfiling, &error);
  bool profiled = queue != nullptr;
  if (queue == nullptr && !asked) {
    queue = Driver().clCreateCommandQueue(context, device, flags, &error);
  }
  SetError(place, error);
  if (queue != nullptr) AddQueue(queue, {context, device, nullptr, profiled, profiled && !asked});
  return queue;
}

cl_command_queue CreateQueueWithProperties(cl_context context, cl_device_id device,
                                           const cl_queue_properties* properties, cl_int* place) {
  cl_int error = CL_SUCCESS;
  const cl_queue_properties flags = FlagsIn(properties);
  const bool asked = (flags & kProfiling) != 0;
  cl_command_queue queue = nullptr;
  cl_queue_properties changed[kMaxProperties + 3];
  // A queue on the device is filled by kernels: none of its commands passes here.
  if (!asked && (flags & CL_QUEUE_ON_DEVICE) == 0 && WithProfiling(properties, changed)) {
    queue = Driver().clCreateCommandQueueWithProperties(context, device, changed, &error);
  }
  const bool forced = queue != nullptr;
  if (!forced) {
    queue = Driver().clCreateCommandQueueWithProperties(context, device, properties, &error);
  }
  SetError(place, error);
  if (queue != nullptr) AddQueue(queue, {context, device, properties, forced || asked, forced});
  return queue;
}

cl_int RetainQueueCall(cl_command_queue handle) {
  const cl_int result = Driver().clRetainCommandQueue(handle);
  Queue* queue = result == CL_SUCCESS ? KnownQueue(handle) : nullptr;
  if (queue != nullptr) RetainQueue(queue);
  return result;
}

cl_int ReleaseQueueCall(cl_command_queue handle) {
  // Before the driver does: afterwards another thread's queue may stand at this address.
  if (Queue* queue = KnownQueue(handle)) ReleaseQueue(queue);
  return Driver().clReleaseCommandQueue(handle);
}

cl_int PropertyList(const std::vector<cl_queue_properties>& list, size_t size, void* value,
                    size_t* size_ret) {
  const size_t bytes = list.size() * sizeof(cl_queue_properties);
  if (value != nullptr && size < bytes) return CL_INVALID_VALUE;
  if (value != nullptr && bytes != 0) memcpy(value, list.data(), bytes);
  if (size_ret != nullptr) *size_ret = bytes;
  return CL_SUCCESS;
}

cl_int QueueInfo(cl_command_queue handle, cl_command_queue_info what, size_t size, void* value,
                 size_t* size_ret) {
  std::vector<cl_queue_properties> list;
  const bool asked = what == CL_QUEUE_PROPERTIES || what == CL_QUEUE_PROPERTIES_ARRAY;
  if (!asked || !IsHidden(handle, &list)) {
    return Driver().clGetCommandQueueInfo(handle, what, size, value, size_ret);
  }
  if (what == CL_QUEUE_PROPERTIES_ARRAY) {
    // Drivers before OpenCL 3.0 do not know the question.
    const cl_int error = Driver().clGetCommandQueueInfo(handle, what, 0, nullptr, nullptr);
    return error != CL_SUCCESS ? error : PropertyList(list, size, value, size_ret);
  }
  const cl_int error = Driver().clGetCommandQueueInfo(handle, what, size, value, size_ret);
  if (error == CL_SUCCESS && value != nullptr) {
    *static_cast<cl_command_queue_properties*>(value) &= ~kProfiling;
  }
  return error;
}

// The application's wish alone decides what it sees; the driver keeps profiling on.
cl_int SetQueueProperty(cl_command_queue handle, cl_command_queue_properties flags, cl_bool enable,
                        cl_command_queue_properties* old) {
  Queue* queue = KnownQueue(handle);
  const bool ours = queue != nullptr && queue->profiled && (flags & kProfiling) != 0;
  const cl_bool passed = ours && flags == kProfiling ? CL_TRUE : enable;
  const cl_command_queue_properties kept =
      ours && flags != kProfiling ? flags & ~kProfiling : flags;
  const cl_int error = Driver().clSetCommandQueueProperty(handle, kept, passed, old);
  if (error != CL_SUCCESS || queue == nullptr) return error;
  if (old != nullptr && queue->hidden) *old &= ~kProfiling;
  if (ours) queue->hidden = enable == CL_FALSE;
  return error;
}

cl_int EventInfo(cl_event event, cl_event_info what, size_t size, void* value, size_t* size_ret) {
  const cl_int error = Driver().clGetEventInfo(event, what, size, value, size_ret);
  if (what == CL_EVENT_REFERENCE_COUNT && error == CL_SUCCESS && value != nullptr) {
    auto* count = static_cast<cl_uint*>(value);
    const cl_uint ours = ReferencesTo(event);
    if (*count > ours) *count -= ours;
  }
  return error;
}

cl_int EventProfilingInfo(cl_event event, cl_profiling_info what, size_t size, void* value,
                          size_t* size_ret) {
  cl_command_queue handle = nullptr;
  if (Driver().clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(cl_command_queue), &handle,
                              nullptr) == CL_SUCCESS &&
      IsHidden(handle)) {
    return CL_PROFILING_INFO_NOT_AVAILABLE;
  }
  return Driver().clGetEventProfilingInfo(event, what, size, value, size_ret);
}

}  // namespace

void WrapQueues(cl_icd_dispatch& table) {
  Replace(table.clCreateCommandQueue, &CreateQueue);
  Replace(table.clCreateCommandQueueWithProperties, &CreateQueueWithProperties);
  Replace(table.clRetainCommandQueue, &RetainQueueCall);
  Replace(table.clReleaseCommandQueue, &ReleaseQueueCall);
  Replace(table.clGetCommandQueueInfo, &QueueInfo);
  Replace(table.clSetCommandQueueProperty, &SetQueueProperty);
  Replace(table.clGetEventInfo, &EventInfo);
  Replace(table.clGetEventProfilingInfo, &EventProfilingInfo);
}

}  // namespace crosscut::opencl
