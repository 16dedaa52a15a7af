// Loads a plugin's file, with what a plugin built for TensorFlow expects beside it.
#pragma once

#include <cstddef>

#include "crosscut/pjrt_profiler.h"
#include "crosscut/plugin.h"

namespace crosscut::host {

struct Library {
  void* handle = nullptr;  // never closed
  // Of the two, at least one: TF_InitProfiler, GetPjrtApi.
  void (*init)(TF_ProfilerRegistrationParams*, TF_Status*) = nullptr;
  const crosscut_pjrt_api* (*pjrt)() = nullptr;
};

// Loads `path` (RTLD_NOW, local, for good) and finds its entry points. A plugin that needs
// libtensorflow_framework.so.2, or TF_ functions from nowhere, gets TensorFlow's own where
// CROSSCUT_TENSORFLOW names the folder of an installed one that is not loaded yet, else our
// stand-in. False: `error` (of `bytes`) says why.
bool LoadLibrary(const char* path, Library* out, char* error, size_t bytes);

}  // namespace crosscut::host
