// An OpenCL driver of the tests' own: commands complete when the test says so, calls fail when it
// says so, and every reference is counted.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace crosscut::opencl {

struct FakeQueue {
  int references = 1;
  cl_command_queue_properties flags = 0;
  std::vector<cl_queue_properties> properties;
  cl_device_id device = nullptr;
  std::vector<cl_queue_properties> given;  // as the driver was called; without the closing 0
};

struct FakeEvent {
  int references = 1;
  cl_int status = CL_QUEUED;
  FakeQueue* queue = nullptr;
  int64_t queued = 0, submit = 0, begin = 0, end = 0;
  std::vector<std::pair<void(CL_CALLBACK*)(cl_event, cl_int, void*), void*>> callbacks;
  std::string call;  // what enqueued it
};

struct FakeDevice {
  std::string name, version;
  enum Clock { kRaw, kMonotonic, kRealtime, kTimer, kOther } clock = kRaw;
  int64_t Now() const;
};

struct FakeDriver {
  static inline std::set<FakeQueue*> queues;
  static inline std::set<FakeEvent*> events;  // alive
  static inline FakeEvent* last = nullptr;    // enqueued
  static inline cl_int fail = CL_SUCCESS;     // what the next enqueue or creation answers
  static inline cl_int fail_callback = CL_SUCCESS;
  static inline bool refuse_profiling = false;
  static inline std::vector<std::string> calls;  // plain calls that came through
  static inline std::string kernel_name = "saxpy";
  static inline int kernel_name_questions = 0;
  static inline uint32_t last_wait_count = 0;

  // All entries of the table that tests use; the rest is null.
  static cl_icd_dispatch Table();
  static void Complete(FakeEvent* event, cl_int status = CL_COMPLETE, int64_t duration_ns = 1000);
  // As if the device ran it from `begin_ns` to `end_ns` of its clock.
  static void CompleteAt(FakeEvent* event, int64_t begin_ns, int64_t end_ns);
  static cl_device_id Handle(FakeDevice& device) { return reinterpret_cast<cl_device_id>(&device); }
};

}  // namespace crosscut::opencl
