#include "library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace crosscut::cupti {
namespace {

// Newest first: what a program loaded itself is found under any of them.
constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};

void* LoadedAlready() {
  for (const char* name : kNames) {
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return handle;
  }
  return nullptr;
}

// Deep binding is left alone: the library must share libcuda with the program.
void* Load(const char* path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); }

// The newest match of a pattern that loads.
void* LoadMatch(const char* pattern) {
  glob_t found = {};
  void* handle = nullptr;
  if (glob(pattern, 0, nullptr, &found) == 0) {
    for (size_t i = found.gl_pathc; i-- > 0 && handle == nullptr;) handle = Load(found.gl_pathv[i]);
  }
  globfree(&found);
  return handle;
}

void* LoadBelow(const char* root, const char* rest) {
  if (root == nullptr || root[0] == '\0') return nullptr;
  char pattern[PATH_MAX];
  if (std::snprintf(pattern, sizeof pattern, "%s%s", root, rest) >= PATH_MAX) return nullptr;
  return LoadMatch(pattern);
}

// The PyPI wheels beside a Python whose environment is rooted at `prefix`. PyTorch loads them from
// there, so that ours and PyTorch's are the same.
void* LoadFromWheels(const char* prefix) {
  void* handle =
      LoadBelow(prefix, "/lib/python3*/site-packages/nvidia/cuda_cupti/lib/libcupti.so.1?");
  if (handle != nullptr) return handle;
  return LoadBelow(prefix, "/lib/python3*/site-packages/nvidia/cu1?/lib/libcupti.so.1?");
}

// Two folders above the file: the prefix of a Python's bin/python. Shortens `path`.
bool PrefixOf(char* path) {
  for (int i = 0; i < 2; ++i) {
    char* slash = std::strrchr(path, '/');
    if (slash == nullptr) return false;
    *slash = '\0';
  }
  return true;
}

// What the program was started as, which in a virtual environment is a link to another prefix's
// Python. `path` holds PATH_MAX.
bool StartedAs(char* path) {
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char name[PATH_MAX] = "";
  const ssize_t bytes = read(fd, name, sizeof name - 1);
  close(fd);
  if (bytes <= 0) return false;
  if (std::strchr(name, '/') != nullptr) {
    std::snprintf(path, PATH_MAX, "%s", name);
    return true;
  }
  const char* folders = getenv("PATH");
  while (folders != nullptr && *folders != '\0') {
    const size_t length = std::strcspn(folders, ":");
    const int needed =
        std::snprintf(path, PATH_MAX, "%.*s/%s", static_cast<int>(length), folders, name);
    if (needed < PATH_MAX && access(path, X_OK) == 0) return true;
    folders += length + (folders[length] == ':' ? 1 : 0);
  }
  return false;
}

void* LoadFromOwnEnvironment() {
  if (void* handle = LoadFromWheels(getenv("VIRTUAL_ENV"))) return handle;
  if (void* handle = LoadFromWheels(getenv("CONDA_PREFIX"))) return handle;
  char path[PATH_MAX];
  if (StartedAs(path) && PrefixOf(path)) {
    if (void* handle = LoadFromWheels(path)) return handle;
  }
  const ssize_t bytes = readlink("/proc/self/exe", path, sizeof path - 1);
  if (bytes <= 0) return nullptr;
  path[bytes] = '\0';
  return PrefixOf(path) ? LoadFromWheels(path) : nullptr;
}

void* LoadFromToolkit(const char* root) {
  if (void* handle = LoadBelow(root, "/extras/CUPTI/lib64/libcupti.so.1?")) return handle;
  if (void* handle = LoadBelow(root, "/lib64/libcupti.so.1?")) return handle;
  return LoadBelow(root, "/lib/libcupti.so.1?");
}

void* LoadAnywhere() {
  if (void* handle = LoadFromOwnEnvironment()) return handle;
  if (void* handle = LoadFromToolkit(getenv("CUDA_HOME"))) return handle;
  if (void* handle = LoadFromToolkit(getenv("CUDA_PATH"))) return handle;
  for (const char* name : kNames) {
    if (void* handle = Load(name)) return handle;
  }
  return LoadFromToolkit("/usr/local/cuda");
}

// Loading the driver library starts nothing; without it CUPTI has nothing to talk to.
bool DriverIsThere() { return dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr; }

template <class Function>
bool Find(void* handle, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(handle, name));
  return *function != nullptr;
}

bool Fill(void* handle, Api* api, char* why, size_t bytes) {
  const char* absent = nullptr;
#define FILL(name) \
  if (!Find(handle, "cupti" #name, &api->name)) absent = "cupti" #name;
  CROSSCUT_CUPTI_OPTIONAL(FILL)
  CROSSCUT_CUPTI_METRICS(FILL)
  FILL(ActivityGetStructSize)
  absent = nullptr;
  CROSSCUT_CUPTI_NEEDED(FILL)
#undef FILL
  if (absent != nullptr) std::snprintf(why, bytes, "libcupti has no function %s", absent);
  return absent == nullptr;
}

}  // namespace

bool LoadCupti(const char* library, Search search, Api* api, char* why, size_t bytes) {
  why[0] = '\0';
  if (library != nullptr) {
    void* handle = Load(library);
    if (handle != nullptr) return Fill(handle, api, why, bytes);
    std::snprintf(why, bytes, "%s", dlerror());
    return false;
  }
  void* handle = LoadedAlready();
  if (handle == nullptr && search == Search::kEverywhere) {
    if (!DriverIsThere()) {
      std::snprintf(why, bytes, "no NVIDIA driver on this machine (libcuda.so.1)");
      return false;
    }
    handle = LoadAnywhere();
  }
  if (handle != nullptr) return Fill(handle, api, why, bytes);
  std::snprintf(
      why, bytes,
      "no libcupti: install nvidia-cuda-cupti into the program's environment, or name one "
      "by the option library=PATH");
  return false;
}

}  // namespace crosscut::cupti
