// The session's side of the plugin host: which plugins are loaded, and how a stopped session waits
// for what they still hold.
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/collect/clock.h"
#include "src/host/registry.h"
#include "src/runtime/error.h"
#include "src/runtime/session.h"

namespace crosscut::record {
namespace {

using host::Registry;

constexpr int kExitWaitMs = 10'000;  // above the deadlines of one plugin's last calls

void RunBeforePluginsGo() {
  (void)atexit([] { Session::Get().FinishPlugins(); });
}

// TensorFlow's two options. The types that it knows beside PLUGGABLE_DEVICE are no plugin's.
host::Gate GateFromEnvironment() {
  host::Gate gate;
  const char* level = secure_getenv("CROSSCUT_DEVICE_TRACER_LEVEL");
  gate.device_tracer = level == nullptr || atoi(level) != 0;
  const char* type = secure_getenv("CROSSCUT_DEVICE_TYPE");
  if (type == nullptr || strcasecmp(type, "unspecified") == 0 ||
      strcasecmp(type, "pluggable_device") == 0) {
    return gate;
  }
  for (const char* other : {"cpu", "gpu", "tpu"}) {
    gate.other_devices = gate.other_devices || strcasecmp(type, other) == 0;
  }
  strncpy(gate.device_type, type, sizeof gate.device_type - 1);
  return gate;
}

}  // namespace

void Session::StartPlugins() {
  host::Surroundings around;
  around.hooks.tell = [](const char* name, const char* version, const char* state,
                         const char* message) {
    Session::Get().TellSource(name, version, state, message);
  };
  around.hooks.probe_cost = [](uint32_t probe, const int64_t figures[5]) {
    ProbeCost cost = {probe, {}};
    for (int i = 0; i < 5; ++i) cost.figures[i] = static_cast<uint64_t>(figures[i]);
    Session::Get().ProbeCosts(cost);
  };
  around.hooks.collected = [](const char* source, const void* bytes, size_t size,
                              int64_t begin) -> const char* {
    const int error = Session::Get().Collected(source, "xspace", bytes, size, {begin, 0});
    return error == CROSSCUT_OK ? nullptr : LastError();
  };
  around.hooks.idle = [] { Session::Get().OnPluginsIdle(); };
  around.hooks.loaded = &RunBeforePluginsGo;
  around.gate = GateFromEnvironment();
  const char* list = secure_getenv("CROSSCUT_PLUGINS");
  if (list != nullptr) Registry::Get().Load(list, around);
  Registry::Get().Start();
}

// True where plugins have something to hand over yet.
bool Session::StopPlugins() {
  Registry::Get().Stop();
  return Registry::Get().Busy();
}

void Session::FinishPlugins() {
  if (Registry::Get().count() == 0) return;
  Registry::Get().Stop();
  if (!Registry::Get().Await(kExitWaitMs)) Say("gave up waiting for a plugin (see crosscut info)");
}

void Session::OnPluginsIdle() {
  if (Recorder::Get().phase() != Phase::kClosing || Registry::Get().Busy()) return;
  const Transition transition(this, /*wait=*/false);
  if (!transition || state() != kOff) return;
  Recorder::Get().SetPhase(Phase::kOff, ClockNow());
  drain_.Ask(Drain::kFlush);
}

}  // namespace crosscut::record
