// Copies, fills, maps and migrations of buffers, images and shared memory.
#include "wrappers.h"

namespace crosscut::opencl {
namespace {

using D = cl_icd_dispatch;

// The name of a device's span, and how many bytes it moves (0: not told).
template <Text kName>
void Moves(Command& command, size_t bytes) {
  static constinit Name name(kName.text, CROSSCUT_ON_DEVICE);
  command.name = name.id();
  if (bytes != 0) command.Arg(Key::kBytes, static_cast<int64_t>(bytes));
}

size_t Volume(const size_t* region) {
  return region == nullptr ? 0 : region[0] * region[1] * region[2];
}

size_t ImageBytes(cl_mem image, const size_t* region) {
  size_t element = 0;
  Driver().clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, nullptr);
  return element * Volume(region);
}

void WrapBuffers(D& table) {
  Replace(table.clEnqueueReadBuffer,
          &Enqueued<&D::clEnqueueReadBuffer, "clEnqueueReadBuffer",
                    [](Command& c, auto, auto, auto, auto, size_t bytes, auto...) {
                      Moves<"Memcpy DtoH">(c, bytes);
                    }>::Call);
  Replace(table.clEnqueueWriteBuffer,
          &Enqueued<&D::clEnqueueWriteBuffer, "clEnqueueWriteBuffer",
                    [](Command& c, auto, auto, auto, auto, size_t bytes, auto...) {
                      Moves<"Memcpy HtoD">(c, bytes);
                    }>::Call);
  Replace(table.clEnqueueCopyBuffer,
          &Enqueued<&D::clEnqueueCopyBuffer, "clEnqueueCopyBuffer",
                    [](Command& c, auto, auto, auto, auto, auto, size_t bytes, auto...) {
                      Moves<"Memcpy DtoD">(c, bytes);
                    }>::Call);
  Replace(table.clEnqueueFillBuffer,
          &Enqueued<&D::clEnqueueFillBuffer, "clEnqueueFillBuffer",
                    [](Command& c, auto, auto, auto, auto, auto, size_t bytes, auto...) {
                      Moves<"Memset">(c, bytes);
                    }>::Call);
  Replace(table.clEnqueueMapBuffer,
          &Enqueued<&D::clEnqueueMapBuffer, "clEnqueueMapBuffer",
                    [](Command& c, auto, auto, auto, auto, auto, size_t bytes, auto...) {
                      Moves<"Map">(c, bytes);
                    }>::Call);
}

void WrapRectangles(D& table) {
  Replace(table.clEnqueueReadBufferRect,
          &Enqueued<&D::clEnqueueReadBufferRect, "clEnqueueReadBufferRect",
                    [](Command& c, auto, auto, auto, auto, auto, const size_t* region, auto...) {
                      Moves<"Memcpy DtoH">(c, Volume(region));
                    }>::Call);
  Replace(table.clEnqueueWriteBufferRect,
          &Enqueued<&D::clEnqueueWriteBufferRect, "clEnqueueWriteBufferRect",
                    [](Command& c, auto, auto, auto, auto, auto, const size_t* region, auto...) {
                      Moves<"Memcpy HtoD">(c, Volume(region));
                    }>::Call);
  Replace(table.clEnqueueCopyBufferRect,
          &Enqueued<&D::clEnqueueCopyBufferRect, "clEnqueueCopyBufferRect",
                    [](Command& c, auto, auto, auto, auto, auto, const size_t* region, auto...) {
                      Moves<"Memcpy DtoD">(c, Volume(region));
                    }>::Call);
}

void WrapImages(D& table) {
  Replace(table.clEnqueueReadImage,
          &Enqueued<&D::clEnqueueReadImage, "clEnqueueReadImage",
                    [](Command& c, auto, cl_mem image, auto, auto, const size_t* region, auto...) {
                      Moves<"Memcpy DtoH">(c, ImageBytes(image, region));
                    }>::Call);
  Replace(table.clEnqueueWriteImage,
          &Enqueued<&D::clEnqueueWriteImage, "clEnqueueWriteImage",
                    [](Command& c, auto, cl_mem image, auto, auto, const size_t* region, auto...) {
                      Moves<"Memcpy HtoD">(c, ImageBytes(image, region));
                    }>::Call);
  Replace(table.clEnqueueFillImage,
          &Enqueued<&D::clEnqueueFillImage, "clEnqueueFillImage",
                    [](Command& c, auto, cl_mem image, auto, auto, const size_t* region, auto...) {
                      Moves<"Memset">(c, ImageBytes(image, region));
                    }>::Call);
  Replace(table.clEnqueueMapImage,
          &Enqueued<&D::clEnqueueMapImage, "clEnqueueMapImage",
                    [](Command& c, auto, cl_mem image, auto, auto, auto, const size_t* region,
                       auto...) { Moves<"Map">(c, ImageBytes(image, region)); }>::Call);
}

void WrapImageCopies(D& table) {
  Replace(table.clEnqueueCopyImage,
          &Enqueued<&D::clEnqueueCopyImage, "clEnqueueCopyImage",
                    [](Command& c, auto, cl_mem image, auto, auto, auto, const size_t* region,
                       auto...) { Moves<"Memcpy DtoD">(c, ImageBytes(image, region)); }>::Call);
  Replace(table.clEnqueueCopyImageToBuffer,
          &Enqueued<&D::clEnqueueCopyImageToBuffer, "clEnqueueCopyImageToBuffer",
                    [](Command& c, auto, cl_mem image, auto, auto, const size_t* region, auto...) {
                      Moves<"Memcpy DtoD">(c, ImageBytes(image, region));
                    }>::Call);
  Replace(table.clEnqueueCopyBufferToImage,
          &Enqueued<&D::clEnqueueCopyBufferToImage, "clEnqueueCopyBufferToImage",
                    [](Command& c, auto, auto, cl_mem image, auto, auto, const size_t* region,
                       auto...) { Moves<"Memcpy DtoD">(c, ImageBytes(image, region)); }>::Call);
}

void WrapMemory(D& table) {
  Replace(table.clEnqueueUnmapMemObject,
          &Enqueued<&D::clEnqueueUnmapMemObject, "clEnqueueUnmapMemObject",
                    [](Command& c, auto...) { Moves<"Unmap">(c, 0); }>::Call);
  Replace(table.clEnqueueMigrateMemObjects,
          &Enqueued<&D::clEnqueueMigrateMemObjects, "clEnqueueMigrateMemObjects",
                    [](Command& c, auto...) { Moves<"Migrate">(c, 0); }>::Call);
  Replace(table.clEnqueueAcquireGLObjects,
          &Enqueued<&D::clEnqueueAcquireGLObjects, "clEnqueueAcquireGLObjects",
                    [](Command& c, auto...) { Moves<"Acquire GL objects">(c, 0); }>::Call);
  Replace(table.clEnqueueReleaseGLObjects,
          &Enqueued<&D::clEnqueueReleaseGLObjects, "clEnqueueReleaseGLObjects",
                    [](Command& c, auto...) { Moves<"Release GL objects">(c, 0); }>::Call);
}

void WrapShared(D& table) {
  Replace(table.clEnqueueSVMMemcpy,
          &Enqueued<&D::clEnqueueSVMMemcpy, "clEnqueueSVMMemcpy",
                    [](Command& c, auto, auto, auto, auto, size_t bytes, auto...) {
                      Moves<"Memcpy SVM">(c, bytes);
                    }>::Call);
  Replace(table.clEnqueueSVMMemFill, &Enqueued<&D::clEnqueueSVMMemFill, "clEnqueueSVMMemFill",
                                               [](Command& c, auto, auto, auto, auto, size_t bytes,
                                                  auto...) { Moves<"Memset">(c, bytes); }>::Call);
  Replace(table.clEnqueueSVMMap, &Enqueued<&D::clEnqueueSVMMap, "clEnqueueSVMMap",
                                           [](Command& c, auto, auto, auto, auto, size_t bytes,
                                              auto...) { Moves<"Map">(c, bytes); }>::Call);
  Replace(table.clEnqueueSVMUnmap,
          &Enqueued<&D::clEnqueueSVMUnmap, "clEnqueueSVMUnmap",
                    [](Command& c, auto...) { Moves<"Unmap">(c, 0); }>::Call);
  Replace(table.clEnqueueSVMMigrateMem,
          &Enqueued<&D::clEnqueueSVMMigrateMem, "clEnqueueSVMMigrateMem",
                    [](Command& c, auto...) { Moves<"Migrate">(c, 0); }>::Call);
}

}  // namespace

void WrapCopies(D& table) {
  WrapBuffers(table);
  WrapRectangles(table);
  WrapImages(table);
  WrapImageCopies(table);
  WrapMemory(table);
  WrapShared(table);
}

}  // namespace crosscut::opencl
