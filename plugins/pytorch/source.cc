// The shim's two entry points, called through ctypes by crosscut/adapters/torch.py: PyTorch's
// operators as the source "pytorch" of a session.

#include <exception>
#include <mutex>

#include "calibrate.h"
#include "operators.h"
#include "registration.h"

namespace crosscut::pytorch {
namespace {

// Never destroyed: callbacks and the recorder may come here while the process exits.
struct State {
  std::mutex mutex;  // of the fields
  at::CallbackHandle callbacks = at::INVALID_CALLBACK_HANDLE;
  bool with_inputs = false;   // what is in place
  bool wants_inputs = false;  // at the level that records everything
};
State& state() {
  static State* const it = new State;
  return *it;
}

int SetLevel(void*, crosscut_level level) {
  std::lock_guard<std::mutex> lock(state().mutex);
  const bool on = level >= CROSSCUT_LEVEL_OPERATORS;
  const bool inputs = state().wants_inputs && level >= CROSSCUT_LEVEL_EVERYTHING;
  at::CallbackHandle& handle = state().callbacks;
  SetRecording(on);
  const bool in_place = handle != at::INVALID_CALLBACK_HANDLE;
  if (on == in_place && (!on || inputs == state().with_inputs)) return CROSSCUT_OK;
  try {
    if (in_place) at::removeCallback(handle);
    handle = on ? at::addGlobalCallback(Callbacks(inputs)) : at::INVALID_CALLBACK_HANDLE;
    state().with_inputs = inputs;
  } catch (const std::exception&) {
    SetRecording(false);
    return CROSSCUT_EOFF;
  }
  return CROSSCUT_OK;
}

void MeasureCost(void*) {
  std::lock_guard<std::mutex> lock(state().mutex);
  if (state().callbacks != at::INVALID_CALLBACK_HANDLE) return;
  try {
    Calibrate(state().wants_inputs);
  } catch (const std::exception&) {
    SetRecording(false);
  }
}

Registration source = {"pytorch", &SetLevel, &MeasureCost};

}  // namespace
}  // namespace crosscut::pytorch

// Registers the source; `version` is PyTorch's. Returns 0 or a CROSSCUT_E* code. A second call
// changes nothing.
extern "C" CROSSCUT_API int crosscut_pytorch_add(const char* version) {
  using namespace crosscut::pytorch;
  try {
    static const bool prepared = (PrepareNames(), true);
    (void)prepared;
  } catch (const std::exception&) {
    return CROSSCUT_EOFF;
  }
  return source.Add(version);
}

// Whether operators tell their inputs (1) or not (0), from the next change of level on.
extern "C" CROSSCUT_API void crosscut_pytorch_inputs(int on) {
  using namespace crosscut::pytorch;
  std::lock_guard<std::mutex> lock(state().mutex);
  state().wants_inputs = on != 0;
}

// Takes the callbacks out and forgets the source. The library must stay loaded.
extern "C" CROSSCUT_API void crosscut_pytorch_remove(void) { crosscut::pytorch::source.Remove(); }
