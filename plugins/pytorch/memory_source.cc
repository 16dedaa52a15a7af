// The source "allocations", called through ctypes by crosscut/adapters/torch.py.

#include <crosscut/crosscut.h>

#include <exception>
#include <mutex>

#include "memory.h"
#include "reports.h"

namespace crosscut::pytorch {
namespace {

constexpr const char* kName = "allocations";

std::mutex& Mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

int source = 0;  // its handle, 0 while there is none

int SetLevel(void*, crosscut_level level) {
  std::lock_guard<std::mutex> lock(Mutex());
  const bool on = level > CROSSCUT_LEVEL_OPERATORS;
  try {
    if (!RecordCpuMemory(on)) {
      crosscut_source_state(kName, nullptr, "conflict",
                            "PyTorch's CPU allocator was replaced by one that cannot be followed");
      return CROSSCUT_OK;
    }
    RecordReports(on);
  } catch (const std::exception&) {
    return CROSSCUT_EOFF;
  }
  return CROSSCUT_OK;
}

void MeasureCost(void*) {
  std::lock_guard<std::mutex> lock(Mutex());
  if (RecordsMemory()) return;
  try {
    CalibrateMemory();
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace
}  // namespace crosscut::pytorch

// Registers the source or forgets it; `version` is PyTorch's. Returns 0 or a CROSSCUT_E* code. The
// library must stay loaded.
extern "C" CROSSCUT_API int crosscut_pytorch_allocations(int on, const char* version) {
  using namespace crosscut::pytorch;
  if (on == 0) {
    if (source != 0) crosscut_source_remove(source);
    source = 0;
    return CROSSCUT_OK;
  }
  if (source != 0) return CROSSCUT_OK;
  crosscut_source it = {};
  it.struct_size = sizeof it;
  it.name = kName;
  it.version = version;
  it.set_level = &SetLevel;
  it.calibrate = &MeasureCost;
  source = crosscut_source_add(&it);
  return source != 0 ? CROSSCUT_OK : CROSSCUT_EINVAL;
}
