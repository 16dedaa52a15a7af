// Prints all that a program can see of its queues and events. What it prints must be the same with
// and without the layer. It ends as its argument says.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

cl_device_id device;
cl_context context;
cl_kernel kernel;

void Setup() {
  cl_platform_id platform;
  clGetPlatformIDs(1, &platform, nullptr);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
  context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  const char* source = "kernel void one(global int* a) { a[get_global_id(0)] += 1; }";
  cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
  clBuildProgram(program, 1, &device, "", nullptr, nullptr);
  kernel = clCreateKernel(program, "one", nullptr);
  cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, nullptr, nullptr);
  clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffer);
}

cl_int Run(cl_command_queue queue, cl_event* event) {
  const size_t size = 1024;
  return clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &size, nullptr, 0, nullptr, event);
}

void PrintQueue(const char* what, cl_command_queue queue) {
  cl_command_queue_properties flags = 99;
  cl_int error = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof flags, &flags, nullptr);
  std::printf("%s: properties %d %llu", what, error, static_cast<unsigned long long>(flags));
  cl_queue_properties list[16] = {};
  size_t bytes = 99;
  error = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &bytes);
  std::printf(", list %d of %zu bytes:", error, bytes);
  for (size_t i = 0; i < bytes / sizeof list[0]; ++i) {
    std::printf(" %llu", static_cast<unsigned long long>(list[i]));
  }
  error = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, 4, list, nullptr);
  std::printf(", too small %d", error);
  cl_uint references = 0;
  clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, nullptr);
  std::printf(", references %u\n", references);
}

void PrintEvent(cl_event event) {
  for (cl_uint what = CL_PROFILING_COMMAND_QUEUED; what <= CL_PROFILING_COMMAND_END + 2; ++what) {
    cl_ulong time = 0;
    size_t bytes = 77;
    const cl_int error = clGetEventProfilingInfo(event, what, sizeof time, &time, &bytes);
    std::printf(" %d/%zu/%d", error, bytes, time != 0);
  }
  std::printf("; too small %d\n",
              clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, 2, nullptr, nullptr));
}

void PrintEvents(cl_command_queue queue) {
  cl_event event = nullptr;
  std::printf("  enqueue %d", Run(queue, &event));
  std::printf(", finish %d, ended:", clFinish(queue));
  PrintEvent(event);
  clRetainEvent(event);
  cl_uint references = 0;
  // The driver lets go of its own references and of ours a moment later.
  for (int i = 0; i < 20 && references != 2; ++i) {
    clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof references, &references, nullptr);
    usleep(1000);
  }
  std::printf("  references %u, release %d %d\n", references, clReleaseEvent(event),
              clReleaseEvent(event));
  cl_event gate = clCreateUserEvent(context, nullptr);
  std::printf("  user event:");
  PrintEvent(gate);
  clSetUserEventStatus(gate, CL_COMPLETE);
  clReleaseEvent(gate);
}

void PrintErrors(cl_command_queue queue) {
  const size_t zero = 0, huge[4] = {1, 1, 1, 1};
  cl_event event = reinterpret_cast<cl_event>(0x10);
  std::printf("  errors:");
  std::printf(" %d",
              clEnqueueNDRangeKernel(queue, kernel, 9, nullptr, huge, nullptr, 0, nullptr, &event));
  std::printf(" %d", clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &zero, nullptr, 0, nullptr,
                                            nullptr));
  std::printf(" %d",
              clEnqueueReadBuffer(queue, nullptr, CL_TRUE, 0, 4, nullptr, 0, nullptr, nullptr));
  std::printf(" %d", clFinish(nullptr));
  std::printf(" %d", clReleaseCommandQueue(nullptr));
  std::printf(" event %s\n", event == reinterpret_cast<cl_event>(0x10) ? "untouched" : "changed");
}

void Show(const char* what, cl_command_queue queue) {
  if (queue == nullptr) {
    std::printf("%s: none\n", what);
    return;
  }
  PrintQueue(what, queue);
  PrintEvents(queue);
  PrintErrors(queue);
  std::printf("  release %d\n", clReleaseCommandQueue(queue));
}

void ShowLists() {
  const std::vector<cl_queue_properties> lists[] = {
      {0},
      {CL_QUEUE_PROPERTIES, 0, 0},
      {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0},
      {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0},
      {CL_QUEUE_PROPERTIES, 1 << 20, 0},
      {0x4444, 1, 0},
  };
  for (const auto& list : lists) {
    cl_int error = 99;
    cl_command_queue queue =
        clCreateCommandQueueWithProperties(context, device, list.data(), &error);
    std::printf("created %d\n", error);
    Show("list", queue);
  }
  Show("no list", clCreateCommandQueueWithProperties(context, device, nullptr, nullptr));
}

// Work is under way when the program ends; stderr has how much was done.
void End(const std::string& how) {
  static cl_command_queue queue = clCreateCommandQueue(context, device, 0, nullptr);
  std::vector<cl_event> events(100);
  for (cl_event& event : events) Run(queue, &event);
  if (how == "wait") usleep(200'000);
  clFlush(queue);
  int done = 0;
  for (const cl_event event : events) {
    cl_int status = CL_QUEUED;
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
    done += status == CL_COMPLETE;
  }
  std::fprintf(stderr, "%d done\n", done);
  std::fflush(stdout);
  if (how == "_exit") _exit(7);
  if (how == "exit") exit(8);
  if (how == "kill") kill(getpid(), SIGKILL);
  if (how == "abort") abort();
}

}  // namespace

int main(int count, char** arguments) {
  Setup();
  for (const cl_command_queue_properties flags : {0, 1, 2, 3}) {
    Show("queue", clCreateCommandQueue(context, device, flags, nullptr));
  }
  cl_int error = 99;
  clCreateCommandQueue(context, device, 1 << 20, &error);
  std::printf("bad flags %d\n", error);
  clCreateCommandQueue(nullptr, device, 0, &error);
  std::printf("no context %d\n", error);
  ShowLists();
  if (count > 1) End(arguments[1]);
  return 0;
}
