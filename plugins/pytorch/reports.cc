#include "reports.h"

#include <c10/core/Allocator.h>
#include <crosscut/crosscut.h>

#include <cstdint>

#include "import_slots.h"
#include "memory.h"

namespace crosscut::pytorch {
namespace {

crosscut_memory Words(c10::Device device, void* block, int64_t bytes, size_t allocated,
                      size_t reserved) {
  return {static_cast<uint32_t>(device.type()), device.index(),
          reinterpret_cast<uintptr_t>(block),   bytes,
          static_cast<int64_t>(allocated),      static_cast<int64_t>(reserved)};
}

void Report(void* block, int64_t bytes, size_t allocated, size_t reserved, c10::Device device) {
  if (RecordsMemory()) {
    const crosscut_memory change = Words(device, block, bytes, allocated, reserved);
    crosscut_memory_changed(&change);
  }
  c10::reportMemoryUsageToProfiler(block, bytes, allocated, reserved, device);
}

void ReportOutOfMemory(int64_t bytes, size_t allocated, size_t reserved, c10::Device device) {
  if (RecordsMemory()) {
    const crosscut_memory asked = Words(device, nullptr, bytes, allocated, reserved);
    crosscut_out_of_memory(&asked);
  }
  c10::reportOutOfMemoryToProfiler(bytes, allocated, reserved, device);
}

ImportSlots& Slots() {
  static auto* const slots =
      new ImportSlots({Imported(&c10::reportMemoryUsageToProfiler, &Report),
                       Imported(&c10::reportOutOfMemoryToProfiler, &ReportOutOfMemory)});
  return *slots;
}

}  // namespace

void RecordReports(bool on) { Slots().Lead(on); }

}  // namespace crosscut::pytorch
