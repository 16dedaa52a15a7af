// The source "allocations", called through ctypes by crosscut/adapters/torch.py.

#include <crosscut/fork_safe_mutex.h>

#include <exception>
#include <mutex>

#include "memory.h"
#include "operators.h"
#include "registration.h"
#include "reports.h"

namespace crosscut::pytorch {
namespace {

ForkSafeMutex& Mutex() {
  static auto* const mutex = new ForkSafeMutex;
  return *mutex;
}

int SetLevel(void*, crosscut_level level) {
  std::lock_guard<ForkSafeMutex> lock(Mutex());
  // In every step but control steps: what is held can only be told from all changes.
  const bool on = level != CROSSCUT_LEVEL_CONTROL;
  try {
    if (!RecordCpuMemory(on)) {
      crosscut_source_state("allocations", nullptr, "conflict",
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
  std::lock_guard<ForkSafeMutex> lock(Mutex());
  if (RecordsMemory()) return;
  try {
    CalibrateMemory();
  } catch (const std::exception&) {
    return;
  }
}

Registration source = {"allocations", &SetLevel, &MeasureCost, /*marks=*/1};

}  // namespace

void RecordReportsOfNewLibraries() {
  std::lock_guard<ForkSafeMutex> lock(Mutex());
  if (RecordsMemory()) RecordReports(true);
}

}  // namespace crosscut::pytorch

// Registers the source or forgets it; `version` is PyTorch's. Returns 0 or a CROSSCUT_E* code. The
// library must stay loaded.
extern "C" CROSSCUT_API int crosscut_pytorch_allocations(int on, const char* version) {
  using namespace crosscut::pytorch;
  if (on != 0) {
    ScopeBegins("allocations");  // which belong to scopes
    return source.Add(version);
  }
  source.Remove();
  return CROSSCUT_OK;
}
