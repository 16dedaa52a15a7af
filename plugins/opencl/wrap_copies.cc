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

// How a call's arguments describe its command; the numbers are places in its list of arguments,
// from 0.
template <Text kName, size_t kSize>
constexpr auto kBytes = [](Command& command, const auto& arguments) {
  Moves<kName>(command, std::get<kSize>(arguments));
};
template <Text kName, size_t kRegion>
constexpr auto kBox = [](Command& command, const auto& arguments) {
  Moves<kName>(command, Volume(std::get<kRegion>(arguments)));
};
template <Text kName, size_t kImage, size_t kRegion>
constexpr auto kPixels = [](Command& command, const auto& arguments) {
  Moves<kName>(command, ImageBytes(std::get<kImage>(arguments), std::get<kRegion>(arguments)));
};
template <Text kName>
constexpr auto kUnsized = [](Command& command, const auto&) { Moves<kName>(command, 0); };

constexpr Text kHtoD = "Memcpy HtoD";
constexpr Text kDtoH = "Memcpy DtoH";
constexpr Text kDtoD = "Memcpy DtoD";
constexpr Text kSet = "Memset";

void WrapBuffers(D& table) {
  Replace(table.clEnqueueReadBuffer,
          &Enqueued<&D::clEnqueueReadBuffer, "clEnqueueReadBuffer", kBytes<kDtoH, 4>>::Call);
  Replace(table.clEnqueueWriteBuffer,
          &Enqueued<&D::clEnqueueWriteBuffer, "clEnqueueWriteBuffer", kBytes<kHtoD, 4>>::Call);
  Replace(table.clEnqueueCopyBuffer,
          &Enqueued<&D::clEnqueueCopyBuffer, "clEnqueueCopyBuffer", kBytes<kDtoD, 5>>::Call);
  Replace(table.clEnqueueFillBuffer,
          &Enqueued<&D::clEnqueueFillBuffer, "clEnqueueFillBuffer", kBytes<kSet, 5>>::Call);
  Replace(table.clEnqueueMapBuffer,
          &Enqueued<&D::clEnqueueMapBuffer, "clEnqueueMapBuffer", kBytes<"Map", 5>>::Call);
  Replace(table.clEnqueueReadBufferRect,
          &Enqueued<&D::clEnqueueReadBufferRect, "clEnqueueReadBufferRect", kBox<kDtoH, 5>>::Call);
  Replace(
      table.clEnqueueWriteBufferRect,
      &Enqueued<&D::clEnqueueWriteBufferRect, "clEnqueueWriteBufferRect", kBox<kHtoD, 5>>::Call);
  Replace(table.clEnqueueCopyBufferRect,
          &Enqueued<&D::clEnqueueCopyBufferRect, "clEnqueueCopyBufferRect", kBox<kDtoD, 5>>::Call);
}

void WrapImages(D& table) {
  Replace(table.clEnqueueReadImage,
          &Enqueued<&D::clEnqueueReadImage, "clEnqueueReadImage", kPixels<kDtoH, 1, 4>>::Call);
  Replace(table.clEnqueueWriteImage,
          &Enqueued<&D::clEnqueueWriteImage, "clEnqueueWriteImage", kPixels<kHtoD, 1, 4>>::Call);
  Replace(table.clEnqueueFillImage,
          &Enqueued<&D::clEnqueueFillImage, "clEnqueueFillImage", kPixels<kSet, 1, 4>>::Call);
  Replace(table.clEnqueueMapImage,
          &Enqueued<&D::clEnqueueMapImage, "clEnqueueMapImage", kPixels<"Map", 1, 5>>::Call);
  Replace(table.clEnqueueCopyImage,
          &Enqueued<&D::clEnqueueCopyImage, "clEnqueueCopyImage", kPixels<kDtoD, 1, 5>>::Call);
  Replace(table.clEnqueueCopyImageToBuffer,
          &Enqueued<&D::clEnqueueCopyImageToBuffer, "clEnqueueCopyImageToBuffer",
                    kPixels<kDtoD, 1, 4>>::Call);
  Replace(table.clEnqueueCopyBufferToImage,
          &Enqueued<&D::clEnqueueCopyBufferToImage, "clEnqueueCopyBufferToImage",
                    kPixels<kDtoD, 2, 5>>::Call);
}

void WrapObjects(D& table) {
  Replace(
      table.clEnqueueUnmapMemObject,
      &Enqueued<&D::clEnqueueUnmapMemObject, "clEnqueueUnmapMemObject", kUnsized<"Unmap">>::Call);
  Replace(table.clEnqueueMigrateMemObjects,
          &Enqueued<&D::clEnqueueMigrateMemObjects, "clEnqueueMigrateMemObjects",
                    kUnsized<"Migrate">>::Call);
  Replace(table.clEnqueueAcquireGLObjects,
          &Enqueued<&D::clEnqueueAcquireGLObjects, "clEnqueueAcquireGLObjects",
                    kUnsized<"Acquire GL objects">>::Call);
  Replace(table.clEnqueueReleaseGLObjects,
          &Enqueued<&D::clEnqueueReleaseGLObjects, "clEnqueueReleaseGLObjects",
                    kUnsized<"Release GL objects">>::Call);
}

void WrapShared(D& table) {
  Replace(table.clEnqueueSVMMemcpy,
          &Enqueued<&D::clEnqueueSVMMemcpy, "clEnqueueSVMMemcpy", kBytes<"Memcpy SVM", 4>>::Call);
  Replace(table.clEnqueueSVMMemFill,
          &Enqueued<&D::clEnqueueSVMMemFill, "clEnqueueSVMMemFill", kBytes<kSet, 4>>::Call);
  Replace(table.clEnqueueSVMMap,
          &Enqueued<&D::clEnqueueSVMMap, "clEnqueueSVMMap", kBytes<"Map", 4>>::Call);
  Replace(table.clEnqueueSVMUnmap,
          &Enqueued<&D::clEnqueueSVMUnmap, "clEnqueueSVMUnmap", kUnsized<"Unmap">>::Call);
  Replace(
      table.clEnqueueSVMMigrateMem,
      &Enqueued<&D::clEnqueueSVMMigrateMem, "clEnqueueSVMMigrateMem", kUnsized<"Migrate">>::Call);
}

}  // namespace

void WrapCopies(D& table) {
  WrapBuffers(table);
  WrapImages(table);
  WrapObjects(table);
  WrapShared(table);
}

}  // namespace crosscut::opencl
