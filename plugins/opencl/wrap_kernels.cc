// Kernels, by their names.
#include "handles.h"
#include "wrappers.h"

namespace crosscut::opencl {
namespace {

constinit HandleCache names;  // by kernel

uint32_t NameOfKernel(cl_kernel kernel) {
  uint32_t name = names.Get(kernel);
  if (name != 0) return name;
  char text[1024] = "kernel";  // what is longer keeps that name
  Driver().clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof text, text, nullptr);
  const crosscut_host* host = Host();
  name = host->name(host->host, text, SIZE_MAX, CROSSCUT_ON_DEVICE, 0);
  names.Put(kernel, name);
  return name;
}

void Sizes(Command& command, Key first, cl_uint dimensions, const size_t* sizes) {
  if (sizes == nullptr) return;
  for (cl_uint i = 0; i < dimensions && i < 3; ++i) {
    command.Arg(static_cast<Key>(static_cast<cl_uint>(first) + i), static_cast<int64_t>(sizes[i]));
  }
}

void DescribeKernel(Command& command, cl_command_queue, cl_kernel kernel, cl_uint dimensions,
                    const size_t*, const size_t* global, const size_t* local, cl_uint,
                    const cl_event*, cl_event*) {
  command.name = NameOfKernel(kernel);
  Sizes(command, Key::kGlobalX, dimensions, global);
  Sizes(command, Key::kLocalX, dimensions, local);
}

void DescribeTask(Command& command, cl_command_queue, cl_kernel kernel, cl_uint, const cl_event*,
                  cl_event*) {
  command.name = NameOfKernel(kernel);
  command.Arg(Key::kGlobalX, 1);
}

template <typename... A>
void DescribeNative(Command& command, A...) {
  static constinit Name name("native kernel", CROSSCUT_ON_DEVICE);
  command.name = name.id();
}

cl_int ReleaseKernel(cl_kernel kernel) {
  // The next kernel may stand at this one's address.
  names.Forget(kernel);
  return Driver().clReleaseKernel(kernel);
}

}  // namespace

void WrapKernels(cl_icd_dispatch& table) {
  using D = cl_icd_dispatch;
  Replace(table.clEnqueueNDRangeKernel,
          &Enqueued<&D::clEnqueueNDRangeKernel, "clEnqueueNDRangeKernel", &DescribeKernel>::Call);
  Replace(table.clEnqueueTask, &Enqueued<&D::clEnqueueTask, "clEnqueueTask", &DescribeTask>::Call);
  Replace(
      table.clEnqueueNativeKernel,
      &Enqueued<&D::clEnqueueNativeKernel, "clEnqueueNativeKernel",
                [](Command& command, auto... args) { DescribeNative(command, args...); }>::Call);
  Replace(table.clReleaseKernel, &ReleaseKernel);
}

}  // namespace crosscut::opencl
