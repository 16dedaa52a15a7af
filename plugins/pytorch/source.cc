// The shim's entry points, called through ctypes by crosscut/adapters/torch.py: PyTorch's
// operators as the source "pytorch" of a session.

#include <crosscut/fork_safe_mutex.h>

#include <exception>
#include <mutex>

#include "calibrate.h"
#include "collectives.h"
#include "operators.h"
#include "registration.h"
#include "reports.h"
#include "scopes.h"
#include "waits.h"

namespace crosscut::pytorch {
namespace {

// Never destroyed: callbacks and the recorder may come here while the process exits.
struct State {
  ForkSafeMutex mutex;                                         // of the fields
  at::CallbackHandle callbacks = at::INVALID_CALLBACK_HANDLE;  // of operators
  at::CallbackHandle scopes = at::INVALID_CALLBACK_HANDLE;
  crosscut_level level = CROSSCUT_LEVEL_CONTROL;
  Inputs with_inputs = Inputs::kNone;   // what is in place
  Inputs wants_inputs = Inputs::kNone;  // at the level that records everything
};
State& state() {
  static State* const it = new State;
  return *it;
}

// What a program marks is seen at every level above control. A callback for user scopes alone
// leaves operators on their unobserved path.
void SetScopes(bool on, bool operators) {
  at::CallbackHandle& handle = state().scopes;
  SetRecordingScopes(on);
  RecordWaits(on);
  const bool listens = on && (operators || HasScopes());
  if (listens == (handle != at::INVALID_CALLBACK_HANDLE)) return;
  if (!listens) at::removeCallback(handle);
  handle = listens ? at::addGlobalCallback(ScopeCallbacks()) : at::INVALID_CALLBACK_HANDLE;
}

void SetOperators(bool on, Inputs inputs) {
  at::CallbackHandle& handle = state().callbacks;
  SetRecording(on);
  SetRecordingInputs(on ? inputs : Inputs::kNone);
  const bool in_place = handle != at::INVALID_CALLBACK_HANDLE;
  if (on == in_place && (!on || inputs == state().with_inputs)) return;
  if (in_place) at::removeCallback(handle);
  handle = on ? at::addGlobalCallback(Callbacks(inputs)) : at::INVALID_CALLBACK_HANDLE;
  state().with_inputs = inputs;
}

int SetLevel(void*, crosscut_level level) {
  std::lock_guard<ForkSafeMutex> lock(state().mutex);
  const Inputs inputs = level == CROSSCUT_LEVEL_EVERYTHING ? state().wants_inputs : Inputs::kNone;
  const bool operators = level >= CROSSCUT_LEVEL_OPERATORS && level != CROSSCUT_LEVEL_MARKS;
  state().level = level;
  try {
    SetScopes(level >= CROSSCUT_LEVEL_BOUNDARY, operators);
    SetOperators(operators, inputs);
  } catch (const std::exception&) {
    SetRecording(false);
    SetRecordingScopes(false);
    return CROSSCUT_EOFF;
  }
  return CROSSCUT_OK;
}

void MeasureCost(void*) {
  std::lock_guard<ForkSafeMutex> lock(state().mutex);
  if (state().callbacks != at::INVALID_CALLBACK_HANDLE) return;
  try {
    Calibrate(state().wants_inputs);
  } catch (const std::exception&) {
    SetRecording(false);
  }
}

void PrepareScopes() {
  if (HearScopes()) return;
  (void)NoticeScope("");  // we listen to all, whatever that costs
}

Registration source = {"pytorch", &SetLevel, &MeasureCost, /*marks=*/1};

}  // namespace

void ScopeBegins(const char* name) {
  if (!NoticeScope(name)) return;
  const std::lock_guard<ForkSafeMutex> lock(state().mutex);
  try {
    if (state().level >= CROSSCUT_LEVEL_BOUNDARY) SetScopes(true, /*operators=*/true);
  } catch (const std::exception&) {
    SetRecordingScopes(false);
  }
}

}  // namespace crosscut::pytorch

// Registers the source; `version` is PyTorch's. Returns 0 or a CROSSCUT_E* code. A second call
// changes nothing.
extern "C" CROSSCUT_API int crosscut_pytorch_add(const char* version) {
  using namespace crosscut::pytorch;
  try {
    PrepareNames();
    PrepareScopes();
  } catch (const std::exception&) {
    return CROSSCUT_EOFF;
  }
  return source.Add(version);
}

// What operators tell of their inputs from now on: an Inputs.
extern "C" CROSSCUT_API void crosscut_pytorch_inputs(int inputs) {
  using namespace crosscut::pytorch;
  std::lock_guard<crosscut::ForkSafeMutex> lock(state().mutex);
  state().wants_inputs = static_cast<Inputs>(inputs);
  if (state().level != CROSSCUT_LEVEL_EVERYTHING) return;
  try {
    SetOperators(true, state().wants_inputs);
  } catch (const std::exception&) {
    SetRecording(false);
  }
}

// Tells the groups and ordinals of collectives from now on (collectives.h). Returns 0 or a
// CROSSCUT_E* code.
extern "C" CROSSCUT_API int crosscut_pytorch_collectives(int before_groups) {
  try {
    return crosscut::pytorch::FollowCollectives(before_groups != 0);
  } catch (const std::exception&) {
    return CROSSCUT_EOFF;
  }
}

// Libraries have been loaded since: what of them is led elsewhere is found.
extern "C" CROSSCUT_API void crosscut_pytorch_loaded(void) {
  using namespace crosscut::pytorch;
  HearScopesOfNewLibraries();
  RecordReportsOfNewLibraries();
  RecordWaits(IsRecording());
}

// Takes the callbacks out and forgets the source. The library must stay loaded.
extern "C" CROSSCUT_API void crosscut_pytorch_remove(void) { crosscut::pytorch::source.Remove(); }
