// libcrosscut_tensorflow.so: Crosscut inside TensorFlow. TensorFlow loads it from
// site-packages/tensorflow-plugins or TF_PLUGGABLE_DEVICE_LIBRARY_PATH and calls it at the edges of
// every tf.profiler session; docs/tensorflow.md says what appears there.
//
// Nothing here fails: an error of TF_InitProfiler would end the user's process, and errors of the
// other calls are only logged. Trouble means an empty result. No TF_ function is called, because
// success needs none.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "crosscut/plugin.h"
#include "profile.h"

namespace {

using crosscut::tensorflow::Window;

// One for all registrations: TensorFlow registers the library once per path that leads to it.
struct Shared {
  std::mutex mutex;
  Window window;
};
Shared& State() {
  static Shared* state = new Shared;  // outlives whatever calls at exit
  return *state;
}

void AtExit() {
  std::unique_lock lock(State().mutex, std::try_to_lock);
  if (lock) State().window.Abandon();
}

// Which registration a call is for: TensorFlow copies the struct, so its address says nothing.
const void* Owner(const TP_Profiler* profiler) { return profiler->ext; }

void Start(const TP_Profiler* profiler, TF_Status*) {
  const std::lock_guard lock(State().mutex);
  State().window.Start(Owner(profiler));
}

void Stop(const TP_Profiler* profiler, TF_Status*) {
  const std::lock_guard lock(State().mutex);
  State().window.Stop(Owner(profiler));
}

void Collect(const TP_Profiler* profiler, uint8_t* buffer, size_t* size, TF_Status*) {
  const std::lock_guard lock(State().mutex);
  const std::string& bytes = State().window.Collect(Owner(profiler));
  if (buffer == nullptr) {
    *size = bytes.size();
    return;
  }
  if (bytes.size() > *size) {
    *size = 0;  // not what we said: nothing rather than a part of a message
  } else {
    std::memcpy(buffer, bytes.data(), bytes.size());
    *size = bytes.size();
  }
  State().window.Drop(Owner(profiler));
}

// Called on copies, and before first use: there is nothing to free.
void DestroyProfiler(TP_Profiler*) {}
void DestroyProfilerFns(TP_ProfilerFns*) {}

}  // namespace

extern "C" __attribute__((visibility("default"))) void TF_InitProfiler(
    TF_ProfilerRegistrationParams* params, TF_Status*) {
  static std::atomic<uintptr_t> registrations{0};
  if (registrations == 0) atexit(AtExit);
  params->profiler->device_type = "CROSSCUT";
  params->profiler->ext = reinterpret_cast<void*>(++registrations);
  params->profiler_fns->start = Start;
  params->profiler_fns->stop = Stop;
  params->profiler_fns->collect_data_xspace = Collect;
  params->destroy_profiler = DestroyProfiler;
  params->destroy_profiler_fns = DestroyProfilerFns;
}
