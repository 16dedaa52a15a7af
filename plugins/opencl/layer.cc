// The OpenCL layer: the ICD loader calls these two once, before the application's first call.
#include <crosscut/crosscut.h>
#include <crosscut/fork_safe_mutex.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "api.h"
#include "plugin.h"
#include "session.h"
#include "wrappers.h"

namespace crosscut::opencl {

const cl_icd_dispatch* driver_table = nullptr;

namespace {

constexpr char kLayerName[] = "Crosscut";
constexpr cl_uint kEntries = sizeof(cl_icd_dispatch) / sizeof(void*);
constexpr int kMaxLoaders = 4;

ForkSafeMutex mutex;
// By loader: a program may bring its own beside the system's. Wrapped calls go on through the first
// one's table, since every handle knows its driver.
constinit cl_icd_dispatch targets[kMaxLoaders] = {};
constinit cl_icd_dispatch ours[kMaxLoaders] = {};
constinit int loaders = 0;

// Copies the entries that there are; the others stay null.
void Copy(cl_icd_dispatch* to, const cl_icd_dispatch* from, cl_uint entries) {
  memcpy(static_cast<void*>(to), from, std::min(entries, kEntries) * sizeof(void*));
}

// The table's functions must stay in memory as long as we call them.
void Pin(const void* function) {
  Dl_info info;
  if (dladdr(function, &info) != 0 && info.dli_fname != nullptr) {
    dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_NODELETE | RTLD_LAZY);
  }
}

// Nobody opens a session in a native program; in Python `crosscut` has done it, or was told not to.
void OpenSession() {
  if (getenv("CROSSCUT_RUN") == nullptr) return;
  const bool python = dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr;
  if (crosscut_active() == 0 && !python) crosscut_start(nullptr);
  const char* plugins = getenv("CROSSCUT_PLUGINS");
  if (crosscut_active() == 0 || plugins == nullptr ||
      strstr(plugins, "libcrosscut_opencl") == nullptr) {
    return;
  }
  // The host loads plugins on a thread of its own; what the program does first would be missed.
  constexpr timespec kMillisecond = {0, 1'000'000};
  for (int i = 0; i < 100 && CurrentSession() == 0; ++i) nanosleep(&kMillisecond, nullptr);
}

const cl_icd_dispatch* AddLoader(cl_uint entries, const cl_icd_dispatch* target) {
  const std::lock_guard<ForkSafeMutex> lock(mutex);
  if (loaders == kMaxLoaders) return nullptr;
  Copy(&targets[loaders], target, entries);
  cl_icd_dispatch& table = ours[loaders];
  Copy(&table, target, entries);
  WrapQueues(table);
  WrapCalls(table);
  WrapCopies(table);
  WrapKernels(table);
  if (loaders == 0) {
    driver_table = &targets[0];
    Pin(reinterpret_cast<const void*>(target->clGetPlatformIDs));
  }
  ++loaders;
  return &table;
}

}  // namespace

bool LayerIsIn() {
  const std::lock_guard<ForkSafeMutex> lock(mutex);
  return loaders > 0;
}

}  // namespace crosscut::opencl

extern "C" {

CROSSCUT_API cl_int clGetLayerInfo(cl_layer_info what, size_t size, void* value, size_t* size_ret) {
  static constexpr cl_layer_api_version kVersion = CL_LAYER_API_VERSION_100;
  const void* answer = nullptr;
  size_t bytes = 0;
  if (what == CL_LAYER_API_VERSION) {
    answer = &kVersion;
    bytes = sizeof kVersion;
  } else if (what == CL_LAYER_NAME) {
    answer = crosscut::opencl::kLayerName;
    bytes = sizeof crosscut::opencl::kLayerName;
  }
  if (answer == nullptr || (value != nullptr && size < bytes)) return CL_INVALID_VALUE;
  if (value != nullptr) memcpy(value, answer, bytes);
  if (size_ret != nullptr) *size_ret = bytes;
  return CL_SUCCESS;
}

CROSSCUT_API cl_int clInitLayer(cl_uint entries, const cl_icd_dispatch* target,
                                cl_uint* entries_ret, const cl_icd_dispatch** table_ret) {
  using namespace crosscut::opencl;
  if (target == nullptr || entries_ret == nullptr || table_ret == nullptr) return CL_INVALID_VALUE;
  const cl_icd_dispatch* table = AddLoader(entries, target);
  if (table == nullptr) return CL_OUT_OF_RESOURCES;
  *entries_ret = std::min(entries, kEntries);
  *table_ret = table;
  OpenSession();
  return CL_SUCCESS;
}

}  // extern "C"
