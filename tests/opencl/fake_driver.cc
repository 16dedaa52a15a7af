#include "fake_driver.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace crosscut::opencl {
namespace {

using D = FakeDriver;

FakeQueue* Of(cl_command_queue queue) { return reinterpret_cast<FakeQueue*>(queue); }
FakeEvent* Of(cl_event event) { return reinterpret_cast<FakeEvent*>(event); }
FakeDevice* Of(cl_device_id device) { return reinterpret_cast<FakeDevice*>(device); }

cl_int Answer(const void* from, size_t bytes, size_t size, void* value, size_t* size_ret) {
  if (value != nullptr && size < bytes) return CL_INVALID_VALUE;
  if (value != nullptr && bytes != 0) memcpy(value, from, bytes);
  if (size_ret != nullptr) *size_ret = bytes;
  return CL_SUCCESS;
}

template <typename T>
cl_int Answer(const T& from, size_t size, void* value, size_t* size_ret) {
  return Answer(&from, sizeof from, size, value, size_ret);
}

cl_int TakeFailure() { return std::exchange(D::fail, CL_SUCCESS); }

cl_command_queue MakeQueue(cl_device_id device, cl_command_queue_properties flags, cl_int* error) {
  cl_int result = TakeFailure();
  if (D::refuse_profiling && (flags & CL_QUEUE_PROFILING_ENABLE) != 0) {
    result = CL_INVALID_QUEUE_PROPERTIES;
  }
  if (error != nullptr) *error = result;
  if (result != CL_SUCCESS) return nullptr;
  auto* queue = new FakeQueue;
  queue->flags = flags;
  queue->device = device;
  D::queues.insert(queue);
  return reinterpret_cast<cl_command_queue>(queue);
}

cl_command_queue CreateQueue(cl_context, cl_device_id device, cl_command_queue_properties flags,
                             cl_int* error) {
  return MakeQueue(device, flags, error);
}

cl_command_queue CreateWithProperties(cl_context, cl_device_id device,
                                      const cl_queue_properties* list, cl_int* error) {
  cl_command_queue_properties flags = 0;
  std::vector<cl_queue_properties> given;
  for (; list != nullptr && *list != 0; list += 2) {
    if (list[0] == CL_QUEUE_PROPERTIES) flags = list[1];
    given.insert(given.end(), {list[0], list[1]});
  }
  cl_command_queue queue = MakeQueue(device, flags, error);
  if (queue != nullptr) Of(queue)->given = given;
  return queue;
}

cl_int RetainQueue(cl_command_queue queue) {
  ++Of(queue)->references;
  return CL_SUCCESS;
}

cl_int ReleaseQueue(cl_command_queue queue) {
  if (--Of(queue)->references == 0) {
    D::queues.erase(Of(queue));
    delete Of(queue);
  }
  return CL_SUCCESS;
}

cl_int QueueInfo(cl_command_queue handle, cl_command_queue_info what, size_t size, void* value,
                 size_t* size_ret) {
  if (handle == nullptr || D::queues.count(Of(handle)) == 0) return CL_INVALID_COMMAND_QUEUE;
  const FakeQueue& queue = *Of(handle);
  if (what == CL_QUEUE_PROPERTIES) return Answer(queue.flags, size, value, size_ret);
  if (what == CL_QUEUE_DEVICE) return Answer(queue.device, size, value, size_ret);
  if (what == CL_QUEUE_CONTEXT) return Answer(cl_context(nullptr), size, value, size_ret);
  if (what == CL_QUEUE_REFERENCE_COUNT) {
    return Answer(static_cast<cl_uint>(queue.references), size, value, size_ret);
  }
  if (what != CL_QUEUE_PROPERTIES_ARRAY) return CL_INVALID_VALUE;
  std::vector<cl_queue_properties> list = queue.given;
  if (!list.empty()) list.push_back(0);
  return Answer(list.data(), list.size() * sizeof list[0], size, value, size_ret);
}

cl_int SetProperty(cl_command_queue handle, cl_command_queue_properties flags, cl_bool enable,
                   cl_command_queue_properties* old) {
  FakeQueue& queue = *Of(handle);
  if (old != nullptr) *old = queue.flags;
  queue.flags = enable ? queue.flags | flags : queue.flags & ~flags;
  return CL_SUCCESS;
}

cl_int DeviceInfo(cl_device_id device, cl_device_info what, size_t size, void* value,
                  size_t* size_ret) {
  const FakeDevice& it = *Of(device);
  if (what == CL_DEVICE_NAME) {
    return Answer(it.name.c_str(), it.name.size() + 1, size, value, size_ret);
  }
  if (what == CL_DEVICE_VERSION) {
    return Answer(it.version.c_str(), it.version.size() + 1, size, value, size_ret);
  }
  if (what == CL_DEVICE_PARENT_DEVICE) {
    return Answer(cl_device_id(nullptr), size, value, size_ret);
  }
  return CL_INVALID_VALUE;
}

cl_int DeviceTimer(cl_device_id device, cl_ulong* device_time, cl_ulong* host_time) {
  if (Of(device)->clock != FakeDevice::kTimer) return CL_INVALID_OPERATION;
  *device_time = Of(device)->Now();
  *host_time = 1;
  return CL_SUCCESS;
}

// ---- Events ----------------------------------------------------------------------------------

cl_int Enqueue(const char* call, cl_command_queue queue, cl_event* place) {
  D::last = nullptr;
  if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
  if (const cl_int error = TakeFailure()) return error;
  auto* event = new FakeEvent;
  event->queue = Of(queue);
  event->call = call;
  event->queued = event->submit = Of(Of(queue)->device)->Now();
  event->references = place != nullptr ? 2 : 1;  // the driver's own, until it is complete
  D::events.insert(event);
  D::last = event;
  if (place != nullptr) *place = reinterpret_cast<cl_event>(event);
  return CL_SUCCESS;
}

cl_int ReleaseEvent(cl_event handle) {
  FakeEvent* event = Of(handle);
  if (--event->references == 0) {
    D::events.erase(event);
    delete event;
  }
  return CL_SUCCESS;
}

cl_int RetainEvent(cl_event event) {
  ++Of(event)->references;
  return CL_SUCCESS;
}

cl_int EventInfo(cl_event handle, cl_event_info what, size_t size, void* value, size_t* size_ret) {
  const FakeEvent& event = *Of(handle);
  if (what == CL_EVENT_REFERENCE_COUNT) {
    return Answer(static_cast<cl_uint>(event.references), size, value, size_ret);
  }
  if (what == CL_EVENT_COMMAND_QUEUE) return Answer(event.queue, size, value, size_ret);
  if (what == CL_EVENT_COMMAND_EXECUTION_STATUS) {
    return Answer(event.status, size, value, size_ret);
  }
  return CL_INVALID_VALUE;
}

cl_int ProfilingInfo(cl_event handle, cl_profiling_info what, size_t size, void* value,
                     size_t* size_ret) {
  const FakeEvent& event = *Of(handle);
  if ((event.queue->flags & CL_QUEUE_PROFILING_ENABLE) == 0 || event.status != CL_COMPLETE) {
    return CL_PROFILING_INFO_NOT_AVAILABLE;
  }
  const int64_t times[] = {event.queued, event.submit, event.begin, event.end};
  const size_t index = what - CL_PROFILING_COMMAND_QUEUED;
  return index < 4 ? Answer(times[index], size, value, size_ret) : CL_INVALID_VALUE;
}

cl_int SetCallback(cl_event handle, cl_int, void(CL_CALLBACK* function)(cl_event, cl_int, void*),
                   void* data) {
  if (const cl_int error = std::exchange(D::fail_callback, CL_SUCCESS)) return error;
  FakeEvent* event = Of(handle);
  if (event->status <= CL_COMPLETE) {
    function(handle, event->status, data);
  } else {
    event->callbacks.emplace_back(function, data);
  }
  return CL_SUCCESS;
}

cl_int Wait(cl_uint count, const cl_event* events) {
  for (cl_uint i = 0; i < count; ++i) {
    if (Of(events[i])->status != CL_COMPLETE) D::Complete(Of(events[i]));
  }
  return CL_SUCCESS;
}

cl_int Marker(cl_command_queue queue, cl_event* event) {
  return Enqueue("clEnqueueMarker", queue, event);
}

cl_int KernelInfo(cl_kernel, cl_kernel_info, size_t size, void* value, size_t* size_ret) {
  ++D::kernel_name_questions;
  return Answer(D::kernel_name.c_str(), D::kernel_name.size() + 1, size, value, size_ret);
}

cl_int ImageInfo(cl_mem, cl_image_info, size_t size, void* value, size_t* size_ret) {
  return Answer(size_t{4}, size, value, size_ret);
}

// ---- The rest of the table -------------------------------------------------------------------

template <size_t kSize>
struct Text {
  constexpr Text(const char (&from)[kSize]) { std::copy(from, from + kSize, text); }
  char text[kSize] = {};
};

// An entry that enqueues: any signature with a queue first and one cl_event*.
template <Text kName, typename Function>
struct Enqueues;
template <Text kName, typename R, typename... A>
struct Enqueues<kName, R (*)(A...)> {
  static R Call(A... args) {
    cl_command_queue queue = nullptr;
    cl_event* place = nullptr;
    cl_int* error_place = nullptr;
    (Look(args, &queue, &place, &error_place), ...);
    const cl_int error = Enqueue(kName.text, queue, place);
    if (error_place != nullptr) *error_place = error;
    if constexpr (std::is_same_v<R, cl_int>) {
      return error;
    } else {
      return error == CL_SUCCESS ? &D::last : nullptr;
    }
  }
  template <typename T>
  static void Look(T value, cl_command_queue* queue, cl_event** place, cl_int** error_place) {
    if constexpr (std::is_same_v<T, cl_command_queue>) *queue = value;
    if constexpr (std::is_same_v<T, cl_event*>) *place = value;
    if constexpr (std::is_same_v<T, cl_int*>) *error_place = value;
    if constexpr (std::is_same_v<T, cl_uint>) D::last_wait_count = value;
  }
};

// An entry that does nothing but say that it was called.
template <Text kName, typename Function>
struct Plain;
template <Text kName, typename R, typename... A>
struct Plain<kName, R (*)(A...)> {
  static R Call(A...) {
    D::calls.emplace_back(kName.text);
    if constexpr (std::is_same_v<R, cl_int>) return TakeFailure();
    if constexpr (std::is_pointer_v<R>) return reinterpret_cast<R>(&D::last);
  }
};

#define ENQUEUES(entry) table.entry = &Enqueues<#entry, decltype(table.entry)>::Call
#define PLAIN(entry) table.entry = &Plain<#entry, decltype(table.entry)>::Call

void FillEnqueues(cl_icd_dispatch& table) {
  ENQUEUES(clEnqueueNDRangeKernel);
  ENQUEUES(clEnqueueTask);
  ENQUEUES(clEnqueueNativeKernel);
  ENQUEUES(clEnqueueReadBuffer);
  ENQUEUES(clEnqueueWriteBuffer);
  ENQUEUES(clEnqueueCopyBuffer);
  ENQUEUES(clEnqueueFillBuffer);
  ENQUEUES(clEnqueueMapBuffer);
  ENQUEUES(clEnqueueReadBufferRect);
  ENQUEUES(clEnqueueWriteBufferRect);
  ENQUEUES(clEnqueueCopyBufferRect);
  ENQUEUES(clEnqueueReadImage);
  ENQUEUES(clEnqueueWriteImage);
  ENQUEUES(clEnqueueFillImage);
  ENQUEUES(clEnqueueMapImage);
  ENQUEUES(clEnqueueCopyImage);
  ENQUEUES(clEnqueueCopyImageToBuffer);
  ENQUEUES(clEnqueueCopyBufferToImage);
  ENQUEUES(clEnqueueUnmapMemObject);
  ENQUEUES(clEnqueueMigrateMemObjects);
  ENQUEUES(clEnqueueSVMMemcpy);
  ENQUEUES(clEnqueueSVMMemFill);
  ENQUEUES(clEnqueueSVMMap);
  ENQUEUES(clEnqueueSVMUnmap);
  ENQUEUES(clEnqueueSVMMigrateMem);
  ENQUEUES(clEnqueueMarkerWithWaitList);
}

void FillPlain(cl_icd_dispatch& table) {
  PLAIN(clFinish);
  PLAIN(clFlush);
  PLAIN(clEnqueueBarrier);
  PLAIN(clEnqueueBarrierWithWaitList);
  PLAIN(clEnqueueWaitForEvents);
  PLAIN(clBuildProgram);
  PLAIN(clCompileProgram);
  PLAIN(clLinkProgram);
  PLAIN(clCreateBuffer);
  PLAIN(clCreateBufferWithProperties);
  PLAIN(clCreateImage);
  PLAIN(clReleaseMemObject);
  PLAIN(clReleaseKernel);
  PLAIN(clSVMAlloc);
  PLAIN(clSVMFree);
  PLAIN(clEnqueueSVMFree);
  PLAIN(clGetPlatformIDs);
  PLAIN(clSetKernelArg);
}

}  // namespace

int64_t FakeDevice::Now() const {
  static constexpr clockid_t kClocks[] = {CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC, CLOCK_REALTIME,
                                          CLOCK_MONOTONIC, CLOCK_MONOTONIC};
  static constexpr int64_t kOffsets[] = {0, 0, 0, -777'000'000'000, 123'456'000'000'000'000};
  timespec now;
  clock_gettime(kClocks[clock], &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec + kOffsets[clock];
}

cl_icd_dispatch FakeDriver::Table() {
  cl_icd_dispatch table = {};
  table.clCreateCommandQueue = &CreateQueue;
  table.clCreateCommandQueueWithProperties = &CreateWithProperties;
  table.clRetainCommandQueue = &RetainQueue;
  table.clReleaseCommandQueue = &ReleaseQueue;
  table.clGetCommandQueueInfo = &QueueInfo;
  table.clSetCommandQueueProperty = &SetProperty;
  table.clGetDeviceInfo = &DeviceInfo;
  table.clGetDeviceAndHostTimer = &DeviceTimer;
  table.clRetainEvent = &RetainEvent;
  table.clReleaseEvent = &ReleaseEvent;
  table.clGetEventInfo = &EventInfo;
  table.clGetEventProfilingInfo = &ProfilingInfo;
  table.clSetEventCallback = &SetCallback;
  table.clWaitForEvents = &Wait;
  table.clEnqueueMarker = &Marker;
  table.clGetKernelInfo = &KernelInfo;
  table.clGetImageInfo = &ImageInfo;
  FillEnqueues(table);
  FillPlain(table);
  return table;
}

void FakeDriver::Complete(FakeEvent* event, cl_int status, int64_t duration_ns) {
  const FakeDevice& device = *Of(event->queue->device);
  event->status = status;
  if (event->begin == 0) {
    event->begin = device.Now();
    event->end = event->begin + duration_ns;
    while (device.Now() < event->end) {
    }
  }
  const auto callbacks = std::exchange(event->callbacks, {});
  const auto handle = reinterpret_cast<cl_event>(event);
  for (const auto& [function, data] : callbacks) function(handle, status, data);
  ReleaseEvent(handle);
}

void FakeDriver::CompleteAt(FakeEvent* event, int64_t begin_ns, int64_t end_ns) {
  event->begin = begin_ns;
  event->end = end_ns;
  Complete(event);
}

}  // namespace crosscut::opencl
