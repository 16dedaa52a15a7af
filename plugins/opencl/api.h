// OpenCL's own headers, as every file of this folder needs them.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl_layer.h>

namespace crosscut::opencl {

// What the calls go on to: the driver, or the next layer. Entries that its loader does not have are
// null. Set by clInitLayer before any other call, then constant.
extern const cl_icd_dispatch* driver_table;
inline const cl_icd_dispatch& Driver() { return *driver_table; }

}  // namespace crosscut::opencl
