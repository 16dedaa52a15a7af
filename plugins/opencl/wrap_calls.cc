// Calls that are a span on the calling thread and have no span on a device.
#include "wrappers.h"

namespace crosscut::opencl {
namespace {

using D = cl_icd_dispatch;

void WrapWaits(D& table) {
  Replace(table.clFinish, &Spanned<&D::clFinish, "clFinish">::Call);
  Replace(table.clFlush, &Spanned<&D::clFlush, "clFlush">::Call);
  Replace(table.clWaitForEvents, &Spanned<&D::clWaitForEvents, "clWaitForEvents">::Call);
  Replace(table.clEnqueueMarker, &Spanned<&D::clEnqueueMarker, "clEnqueueMarker">::Call);
  Replace(table.clEnqueueBarrier, &Spanned<&D::clEnqueueBarrier, "clEnqueueBarrier">::Call);
  Replace(table.clEnqueueWaitForEvents,
          &Spanned<&D::clEnqueueWaitForEvents, "clEnqueueWaitForEvents">::Call);
  Replace(table.clEnqueueMarkerWithWaitList,
          &Spanned<&D::clEnqueueMarkerWithWaitList, "clEnqueueMarkerWithWaitList">::Call);
  Replace(table.clEnqueueBarrierWithWaitList,
          &Spanned<&D::clEnqueueBarrierWithWaitList, "clEnqueueBarrierWithWaitList">::Call);
}

void WrapPrograms(D& table) {
  Replace(table.clBuildProgram, &Spanned<&D::clBuildProgram, "clBuildProgram">::Call);
  Replace(table.clCompileProgram, &Spanned<&D::clCompileProgram, "clCompileProgram">::Call);
  Replace(table.clLinkProgram, &Spanned<&D::clLinkProgram, "clLinkProgram">::Call);
}

void WrapMemory(D& table) {
  Replace(table.clCreateBuffer, &Spanned<&D::clCreateBuffer, "clCreateBuffer">::Call);
  Replace(table.clCreateBufferWithProperties,
          &Spanned<&D::clCreateBufferWithProperties, "clCreateBufferWithProperties">::Call);
  Replace(table.clCreateImage, &Spanned<&D::clCreateImage, "clCreateImage">::Call);
  Replace(table.clReleaseMemObject, &Spanned<&D::clReleaseMemObject, "clReleaseMemObject">::Call);
  Replace(table.clSVMAlloc, &Spanned<&D::clSVMAlloc, "clSVMAlloc">::Call);
  Replace(table.clSVMFree, &Spanned<&D::clSVMFree, "clSVMFree">::Call);
  Replace(table.clEnqueueSVMFree, &Spanned<&D::clEnqueueSVMFree, "clEnqueueSVMFree">::Call);
}

}  // namespace

void WrapCalls(D& table) {
  WrapWaits(table);
  WrapPrograms(table);
  WrapMemory(table);
}

}  // namespace crosscut::opencl
