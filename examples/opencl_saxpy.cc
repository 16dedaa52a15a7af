// A small OpenCL program that knows nothing of Crosscut: y = a * x + y, several times over, then
// the sum of y. Two queues: one computes and reads back, the other brings in the next x meanwhile.
//
//   c++ -std=c++20 opencl_saxpy.cc -lOpenCL -o opencl_saxpy
//   crosscut record -- ./opencl_saxpy
//   ./opencl_saxpy --events     what the device itself says each kind of command took
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr size_t kCount = 1 << 20;
constexpr size_t kBytes = kCount * sizeof(float);
constexpr size_t kPartials = 256;
constexpr int kSteps = 12;

constexpr char kSource[] = R"(
kernel void saxpy(float a, global const float* x, global float* y) {
  size_t i = get_global_id(0);
  y[i] = a * x[i] + y[i];
}
kernel void smooth(global const float* from, global float* to, uint n) {
  size_t i = get_global_id(0);
  float left = from[i == 0 ? i : i - 1], right = from[i + 1 == n ? i : i + 1];
  to[i] = 0.25f * left + 0.5f * from[i] + 0.25f * right;
}
kernel void partial_sums(global const float* y, global float* sums, uint n) {
  float sum = 0;
  for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) sum += y[i];
  sums[get_global_id(0)] = sum;
}
)";

void Check(cl_int error, const char* what) {
  if (error == CL_SUCCESS) return;
  std::fprintf(stderr, "%s: OpenCL error %d\n", what, error);
  std::exit(1);
}

struct Device {
  cl_context context;
  cl_command_queue compute, upload;
  cl_program program;

  explicit Device(bool profile) {
    cl_platform_id platform;
    cl_device_id device;
    Check(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
    Check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "clGetDeviceIDs");
    cl_int error;
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    Check(error, "clCreateContext");
    const cl_command_queue_properties flags = profile ? CL_QUEUE_PROFILING_ENABLE : 0;
    compute = clCreateCommandQueue(context, device, flags, &error);
    Check(error, "clCreateCommandQueue");
    upload = clCreateCommandQueue(context, device, flags, &error);
    Check(error, "clCreateCommandQueue");
    const char* source = kSource;
    program = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
    Check(clBuildProgram(program, 1, &device, "", nullptr, nullptr), "clBuildProgram");
  }
  ~Device() {
    clReleaseProgram(program);
    clReleaseCommandQueue(upload);
    clReleaseCommandQueue(compute);
    clReleaseContext(context);
  }

  cl_kernel Kernel(const char* name) const {
    cl_int error;
    cl_kernel kernel = clCreateKernel(program, name, &error);
    Check(error, name);
    return kernel;
  }
  cl_mem Buffer(size_t bytes) const {
    cl_int error;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, &error);
    Check(error, "clCreateBuffer");
    return buffer;
  }
};

// Sums up what events say about the commands of each name; gives out no event when it is off.
class Events {
 public:
  explicit Events(bool on) : on_(on) {}

  cl_event* Next(const char* name) {
    if (!on_) return nullptr;
    return &events_.emplace_back(name, nullptr).second;
  }
  void Print() {
    std::map<std::string, std::pair<int, cl_ulong>> sums;
    for (const auto& [name, event] : events_) {
      cl_ulong begin = 0, end = 0;
      Check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, 8, &begin, nullptr),
            "begin");
      Check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, 8, &end, nullptr), "end");
      ++sums[name].first;
      sums[name].second += end - begin;
      clReleaseEvent(event);
    }
    for (const auto& [name, sum] : sums) {
      std::printf("%s,%d,%llu\n", name.c_str(), sum.first,
                  static_cast<unsigned long long>(sum.second));
    }
  }

 private:
  const bool on_;
  std::deque<std::pair<const char*, cl_event>> events_;  // whose elements stay where they are
};

void Set(cl_kernel kernel, cl_uint index, const cl_mem& value) {
  Check(clSetKernelArg(kernel, index, sizeof value, &value), "clSetKernelArg");
}

struct Kernels {
  cl_kernel saxpy, smooth, sums;

  Kernels(const Device& device, cl_mem y, cl_mem smoothed, cl_mem partials)
      : saxpy(device.Kernel("saxpy")),
        smooth(device.Kernel("smooth")),
        sums(device.Kernel("partial_sums")) {
    const float a = 0.5f;
    const cl_uint count = kCount;
    Check(clSetKernelArg(saxpy, 0, sizeof a, &a), "clSetKernelArg");
    Set(saxpy, 2, y);
    Set(smooth, 0, y);
    Set(smooth, 1, smoothed);
    Check(clSetKernelArg(smooth, 2, sizeof count, &count), "clSetKernelArg");
    Set(sums, 0, smoothed);
    Set(sums, 1, partials);
    Check(clSetKernelArg(sums, 2, sizeof count, &count), "clSetKernelArg");
  }
  ~Kernels() {
    for (cl_kernel kernel : {saxpy, smooth, sums}) clReleaseKernel(kernel);
  }
};

void Run(cl_command_queue queue, cl_kernel kernel, size_t size, cl_event* event) {
  Check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &size, nullptr, 0, nullptr, event),
        "clEnqueueNDRangeKernel");
}

double Compute(const Device& device, Events& events) {
  cl_mem x[2] = {device.Buffer(kBytes), device.Buffer(kBytes)};
  cl_mem y = device.Buffer(kBytes), smoothed = device.Buffer(kBytes);
  cl_mem partials = device.Buffer(kPartials * sizeof(float));
  std::vector<float> input(kCount), sums(kPartials);
  double total = 0;
  {
    const Kernels kernels(device, y, smoothed, partials);
    const float zero = 0;
    Check(clEnqueueFillBuffer(device.compute, y, &zero, sizeof zero, 0, kBytes, 0, nullptr,
                              events.Next("Memset")),
          "clEnqueueFillBuffer");
    for (int step = 0; step < kSteps; ++step) {
      for (size_t i = 0; i < kCount; ++i) input[i] = static_cast<float>((i + step) % 7);
      cl_event uploaded = nullptr;
      cl_event* profiled = events.Next("Memcpy HtoD");
      Check(clEnqueueWriteBuffer(device.upload, x[step % 2], CL_TRUE, 0, kBytes, input.data(), 0,
                                 nullptr, profiled != nullptr ? profiled : &uploaded),
            "clEnqueueWriteBuffer");
      if (uploaded != nullptr) clReleaseEvent(uploaded);
      // The next upload runs beside these: it waits for nothing but its own buffer.
      if (step >= 1) Check(clFinish(device.compute), "clFinish");
      Set(kernels.saxpy, 1, x[step % 2]);
      Run(device.compute, kernels.saxpy, kCount, events.Next("saxpy"));
      Run(device.compute, kernels.smooth, kCount, events.Next("smooth"));
      Check(clFlush(device.compute), "clFlush");
    }
    Run(device.compute, kernels.sums, kPartials, events.Next("partial_sums"));
    Check(clEnqueueReadBuffer(device.compute, partials, CL_TRUE, 0, kPartials * sizeof(float),
                              sums.data(), 0, nullptr, events.Next("Memcpy DtoH")),
          "clEnqueueReadBuffer");
  }
  for (float sum : sums) total += sum;
  for (cl_mem buffer : {x[0], x[1], y, smoothed, partials}) clReleaseMemObject(buffer);
  return total;
}

}  // namespace

int main(int count, char** arguments) {
  const bool profile = count > 1 && std::strcmp(arguments[1], "--events") == 0;
  const Device device(profile);
  Events events(profile);
  std::printf("sum %.0f after %d steps\n", Compute(device, events), kSteps);
  events.Print();
  return 0;
}
