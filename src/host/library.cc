#include "src/host/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace crosscut::host {
namespace {

constexpr size_t kPathBytes = 4096;

// Libraries of TensorFlow that plugins link, by what the loader says when they are not there.
constexpr const char* kTensorFlowLibraries[] = {"libtensorflow_framework.so.2",
                                                "_pywrap_tensorflow_internal.so"};

// The folder of libcrosscut.so.1, with its '/'.
bool OwnFolder(char* out) {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&OwnFolder), &info) == 0 || info.dli_fname == nullptr) {
    return false;
  }
  const char* slash = strrchr(info.dli_fname, '/');
  if (slash == nullptr) return false;
  snprintf(out, kPathBytes, "%.*s", static_cast<int>(slash + 1 - info.dli_fname), info.dli_fname);
  return true;
}

bool OpenIn(const char* folder, const char* name, int flags) {
  char path[kPathBytes + 256];
  snprintf(path, sizeof path, "%s%s", folder, name);
  return dlopen(path, RTLD_NOW | RTLD_NODELETE | flags) != nullptr;
}

bool ProvideTensorFlow(const char* name) {
  const char* folder_of_program = secure_getenv("CROSSCUT_TENSORFLOW");
  if (folder_of_program != nullptr && *folder_of_program != '\0') {
    char with_slash[kPathBytes];
    snprintf(with_slash, sizeof with_slash, "%s/", folder_of_program);
    if (OpenIn(with_slash, name, RTLD_LOCAL)) return true;
  }
  char folder[kPathBytes];
  if (!OwnFolder(folder)) return false;
  strncat(folder, "tensorflow/", sizeof folder - strlen(folder) - 1);
  return OpenIn(folder, name, RTLD_LOCAL);
}

// What `error` of the loader lacks; false where it is nothing of TensorFlow's, or cannot be had.
bool Provide(const char* error) {
  for (const char* name : kTensorFlowLibraries) {
    if (strstr(error, name) != nullptr && strstr(error, "cannot open shared object") != nullptr) {
      return ProvideTensorFlow(name);
    }
  }
  if (strstr(error, "undefined symbol: TF_") == nullptr) return false;
  char folder[kPathBytes];
  return OwnFolder(folder) && OpenIn(folder, "libcrosscut_tensorflow_status.so", RTLD_GLOBAL);
}

}  // namespace

bool LoadLibrary(const char* path, Library* out, char* error, size_t bytes) {
  constexpr int kFlags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  out->handle = dlopen(path, kFlags);
  for (int tries = 0; out->handle == nullptr; ++tries) {
    const char* why = dlerror();
    snprintf(error, bytes, "%s", why == nullptr ? "dlopen failed" : why);
    if (tries == 3 || !Provide(error)) return false;
    out->handle = dlopen(path, kFlags);
  }
  out->init = reinterpret_cast<decltype(out->init)>(dlsym(out->handle, "TF_InitProfiler"));
  out->pjrt = reinterpret_cast<decltype(out->pjrt)>(dlsym(out->handle, "GetPjrtApi"));
  if (out->init != nullptr || out->pjrt != nullptr) return true;
  snprintf(error, bytes, "%s exports neither TF_InitProfiler nor GetPjrtApi", path);
  return false;
}

}  // namespace crosscut::host
