// What an enqueued kernel costs the thread that enqueues it, and until the device is done: medians
// over rounds, ns. Run bare, under the layer alone (OPENCL_LAYERS) and under `crosscut record`.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kRounds = 401;
constexpr int kKernels = 100;  // per round

double Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

double Median(std::array<double, kRounds> values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

cl_kernel MakeKernel(cl_context context, cl_device_id device) {
  const char* source = "kernel void add(global float* a) { a[get_global_id(0)] += 1; }";
  cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
  if (clBuildProgram(program, 1, &device, "", nullptr, nullptr) != CL_SUCCESS) std::exit(1);
  cl_kernel kernel = clCreateKernel(program, "add", nullptr);
  cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, nullptr, nullptr);
  clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  return kernel;
}

}  // namespace

int main() {
  cl_platform_id platform;
  cl_device_id device;
  if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS) return 1;
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, nullptr);
  cl_kernel kernel = MakeKernel(context, device);
  std::array<double, kRounds> enqueues, rounds;
  for (int round = 0; round < kRounds; ++round) {
    const size_t size = 64;
    const double begin = Now();
    for (int i = 0; i < kKernels; ++i) {
      clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &size, nullptr, 0, nullptr, nullptr);
    }
    const double enqueued = Now();
    clFinish(queue);
    enqueues[round] = (enqueued - begin) / kKernels;
    rounds[round] = (Now() - begin) / kKernels;
  }
  std::printf("enqueue_ns,%.0f,until_done_ns,%.0f\n", Median(enqueues), Median(rounds));
  return 0;
}
