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

// Of the arguments of clEnqueueNDRangeKernel.
constexpr auto kKernel = [](Command& command, const auto& arguments) {
  const cl_uint dimensions = std::get<2>(arguments);
  command.name = NameOfKernel(std::get<1>(arguments));
  Sizes(command, Key::kGlobalX, dimensions, std::get<4>(arguments));
  Sizes(command, Key::kLocalX, dimensions, std::get<5>(arguments));
};

constexpr auto kTask = [](Command& command, const auto& arguments) {
  command.name = NameOfKernel(std::get<1>(arguments));
};

constexpr auto kNative = [](Command& command, const auto&) {
  static constinit Name name("native kernel", CROSSCUT_ON_DEVICE);
  command.name = name.id();
};

cl_int ReleaseKernel(cl_kernel kernel) {
  // The next kernel may stand at this one's address.
  names.Forget(kernel);
  return Driver().clReleaseKernel(kernel);
}

}  // namespace

void WrapKernels(cl_icd_dispatch& table) {
  using D = cl_icd_dispatch;
  Replace(table.clEnqueueNDRangeKernel,
          &Enqueued<&D::clEnqueueNDRangeKernel, "clEnqueueNDRangeKernel", kKernel>::Call);
  Replace(table.clEnqueueTask, &Enqueued<&D::clEnqueueTask, "clEnqueueTask", kTask>::Call);
  Replace(table.clEnqueueNativeKernel,
          &Enqueued<&D::clEnqueueNativeKernel, "clEnqueueNativeKernel", kNative>::Call);
  Replace(table.clReleaseKernel, &ReleaseKernel);
}

}  // namespace crosscut::opencl
